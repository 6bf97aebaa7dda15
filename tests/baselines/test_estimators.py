"""Methods on rows keep scikit-learn's contract."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from ddlcn.baselines.addl import ADDL
from ddlcn.baselines.bayesian import BayesianDictionary
from ddlcn.baselines.copar import COPAR
from ddlcn.baselines.fddl import FDDL
from ddlcn.baselines.ksvd import LabelConsistentKSVD
from ddlcn.baselines.pairs import DictionaryPairs
from ddlcn.baselines.representation import RepresentationClassifier
from ddlcn.baselines.rrc import RobustCoding


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
        RobustCoding(turns=1),
    ]
)
def test_contract(estimator, check):
    check(estimator)
