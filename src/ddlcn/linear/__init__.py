"""Linear SVM: the estimator, its two solvers, validation and calibration."""
