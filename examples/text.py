"""How often does a classifier of short reviews fail under typing errors, and under paraphrases?

A TF-IDF classifier is trained on the sentences below; other sentences are perturbed. Nothing is
downloaded. Run it: python examples/text.py
"""

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import surefoot as sf

GOOD, BAD = ["great", "lovely", "charming", "brilliant"], ["awful", "boring", "clumsy", "terrible"]
SENTENCES = [
    "the plot was {}", "what a {} film", "a {} cast and a {} ending", "the music is {}",
    "{} from start to finish", "I found it {}", "my friends called it {}", "simply {}",
]  # fmt: skip
PARAPHRASES = {
    "film": ["movie", "feature"], "found": ["thought"], "simply": ["just", "really"],
    "music": ["score", "soundtrack"], "plot": ["story"], "great": ["superb", "very good"],
    "awful": ["dreadful", "very bad"], "boring": ["dull"], "lovely": ["delightful"],
}  # fmt: skip


def reviews(words: list[str]) -> list[str]:
    """Every sentence with every word."""
    return [sentence.format(word, word) for word in words for sentence in SENTENCES]


def paraphrase(text: str, rng: np.random.Generator, level: float) -> str:
    """Each word that has synonyms becomes one of them with probability `level`."""
    return " ".join(
        PARAPHRASES[word][rng.integers(len(PARAPHRASES[word]))]
        if word in PARAPHRASES and rng.random() < level
        else word
        for word in text.split(" ")
    )


train = reviews(GOOD) + reviews(BAD)
classifier = make_pipeline(
    TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4)), LogisticRegression(C=10)
).fit(train, [1] * len(reviews(GOOD)) + [0] * len(reviews(BAD)))

inputs = sf.load_inputs(
    ["a great film", "simply lovely music", "an awful plot", "I found it boring"],
    ["good", "good", "bad", "bad"],
    class_names=["bad", "good"],
)
model = sf.load_model(classifier, examples=inputs)
method = sf.methods.ExactSequential(width=0.1, error=0.05)
for perturbation in (sf.perturb.Typos(0.1), sf.perturb.custom(paraphrase, level=0.5)):
    result = sf.Study(model, inputs, perturbation, method).run()
    print(f"{perturbation.kind} at {perturbation.level}: {result.view.headings[0]}")
    for example in result.details.examples[:2]:
        print(
            f"  {example.before} is {example.clean_class}, {example.after} {example.failed_class}"
        )
