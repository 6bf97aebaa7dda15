"""Methods on rows pass the checks of scikit-learn."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from ddlcn_lab.methods.addl import ADDL
from ddlcn_lab.methods.bayesian import BayesianDictionary
from ddlcn_lab.methods.copar import COPAR
from ddlcn_lab.methods.fddl import FDDL
from ddlcn_lab.methods.ksvd import LabelConsistentKSVD
from ddlcn_lab.methods.pairs import DictionaryPairs
from ddlcn_lab.methods.representation import RepresentationClassifier
from ddlcn_lab.methods.rrc import RobustCoding


@parametrize_with_checks(
    [
        RepresentationClassifier(),
        FDDL(3),
        COPAR(3, 2),
        ADDL(3),
        BayesianDictionary(False, 3, 3, sweeps=4),
        BayesianDictionary(True, 3, 3, sweeps=4),
        LabelConsistentKSVD(3, 3),
        DictionaryPairs(2),
        RobustCoding(passes=1),
    ]
)
def test_sklearn_checks(estimator, check):
    check(estimator)
