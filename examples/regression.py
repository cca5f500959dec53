"""A regressor: how often does noise in the measurements move its output by more than 10?

A ridge regression of the progression of diabetes, on data that come with scikit-learn, trained here
within a second. Writes regression.html. Needs pip install scikit-learn.
"""

import sys

try:
    from sklearn.datasets import load_diabetes
    from sklearn.linear_model import Ridge
    from sklearn.preprocessing import StandardScaler
except ModuleNotFoundError:
    sys.exit("regression.py needs the package scikit-learn: pip install scikit-learn")

import surefoot as sf

data = load_diabetes(scaled=False)
train, test = slice(100, None), slice(0, 40)
scale = StandardScaler().fit(data.data[train])
ridge = Ridge().fit(scale.transform(data.data[train]), data.target[train])

model = sf.load_model(ridge, scores="values")
inputs = sf.load_inputs(scale.transform(data.data[test]), targets=data.target[test])

# Each value measured with an error of a tenth of its standard deviation.
noise = sf.perturb.GaussianNoise(0.1)
method = sf.methods.ExactSequential(width=0.1, error=0.05)
moved = sf.Study(model, inputs, noise, method, property=sf.properties.Close(10)).run()
print(moved)
moved.report("regression.html")

# Against the true value, and relative to it: most of what fails here fails without noise too.
half = sf.properties.Close(share=0.5, of="true")
print(sf.Study(model, inputs, noise, method, property=half).run())
