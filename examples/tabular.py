"""How robust is a pipeline on a table? Writes patients.csv, pipeline.joblib, columns.toml, report.

Tables of invented patients with numbers and categories, a scikit-learn pipeline that selects
columns by name, and a study: each number changes by a tenth of the standard deviation of its
column. Needs pip install 'surefoot[sklearn]' pandas.
"""

from pathlib import Path

import joblib
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import surefoot as sf

COLUMNS = """\
[[feature]]            # columns that are not named here change by their standard deviation
name = "age"
noise = 25             # years, in place of the standard deviation; the level multiplies it
low = 18
high = 90

[[feature]]
name = "pressure"
unit = "mmHg"
low = 0

[[feature]]
name = "smoker"        # a category: another one with probability noise times level
noise = 0.5
"""


def patients(n: int, seed: int) -> pd.DataFrame:
    """Age in years and blood pressure, a habit and a ward, and the risk that follows from them."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age [years]": rng.integers(18, 90, n),
            "pressure": np.round(rng.normal(125, 15, n), 1),
            "smoker": rng.choice(["never", "former", "daily"], n, p=[0.5, 0.3, 0.2]),
            "ward": rng.choice(["north", "south"], n),
        }
    )
    habit = table["smoker"].map({"never": -0.5, "former": 0.3, "daily": 1.5}).astype(float)
    score = (table["age [years]"] - 54) / 12 + (table["pressure"] - 125) / 10 + habit
    table["risk"] = np.where(score + rng.normal(0, 0.7, n) > 0, "high", "low")
    return table


def main() -> None:
    """Fit, write the files that the command line takes, study, report."""
    train, test = patients(300, seed=1), patients(60, seed=2)
    numbers, categories = ["age [years]", "pressure"], ["smoker", "ward"]
    columns = ColumnTransformer(
        [("numbers", StandardScaler(), numbers), ("categories", OneHotEncoder(), categories)]
    )
    pipeline = make_pipeline(columns, LogisticRegression())
    pipeline.fit(train[numbers + categories], train["risk"])
    joblib.dump(pipeline, "pipeline.joblib")
    test.to_csv("patients.csv", index=False)
    Path("columns.toml").write_text(COLUMNS, encoding="utf-8")

    inputs = sf.load_inputs(test, labels="risk", class_names=list(pipeline.classes_))
    model = sf.load_model(pipeline, features=inputs.features)
    noise = sf.perturb.TableNoise(0.1, relative_to="sd")
    result = sf.Study(model, inputs, noise, sf.methods.ExactSequential(0.1, 0.05)).run()
    print(result)
    result.report("tabular.html")
    print(
        "\nThe same from the command line:\nsurefoot estimate pipeline.joblib patients.csv "
        "--labels risk --perturb table:0.1sd --trust"
    )


if __name__ == "__main__":
    main()
