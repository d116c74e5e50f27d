"""
Words that indicate spam: log-count ratios
==========================================

A naive Bayes filter has log p(word | spam)/p(word | ham) for every word, and classifies a message by
their sum. Smoothing prevents single occurrences of a word from deciding alone. The messages are invented.

Read on: :doc:`/guides/text`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline

from mercer import CountVectorizer, MultinomialNB

SPAM = "free prize win call now claim urgent offer cash txt click reply"
HAM = "home late dinner see you tomorrow meeting thanks love train lunch sorry"
BOTH = "please today your the message new phone and time"
rng = np.random.default_rng(0)


def message(own, other):
    said = ((own, 4), (BOTH, 5), (other, rng.integers(0, 3)))
    return " ".join(np.concatenate([rng.choice(words.split(), n) for words, n in said]))


kinds = np.repeat(["spam", "ham"], 200)
messages = [message(SPAM, HAM) if kind == "spam" else message(HAM, SPAM) for kind in kinds]
model = make_pipeline(CountVectorizer(), MultinomialNB()).fit(messages, kinds)

words = model[0].get_feature_names_out()
ham, spam = model[-1].feature_log_prob_
ratio = spam - ham
order = np.argsort(ratio)
assert set(words[order[:12]]) == set(HAM.split())
assert set(words[order[-12:]]) == set(SPAM.split())
mail = "claim your free prize today"
p = model.predict_proba([mail])[0, 1]
known = [ratio[list(words).index(word)] for word in mail.split()]
assert np.isclose(np.sum(known), np.log(p / (1 - p)))  # both kinds are as frequent

plt.style.use("tableau-colorblind10")
figure, ax = plt.subplots(figsize=(6.4, 4.8), layout="constrained")
shown = np.concatenate([order[:8], order[14:20], order[-8:]])
ax.barh(words[shown], ratio[shown], color=np.where(ratio[shown] > 0, "C1", "C0"), height=0.7)
ax.axvline(0, color="0.3", linewidth=0.8)
ax.set_xlabel("log p(word | spam) / p(word | ham)")
ax.set_title(f'Each word has its weight; "{mail}" is spam: {p:.1%}', fontsize=11)
ax.tick_params(axis="y", labelsize=8)
plt.show()
