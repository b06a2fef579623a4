"""The paper's experiments: data sets, points, figures, curves."""
