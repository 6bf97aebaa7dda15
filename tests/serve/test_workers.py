"""A full queue."""

import threading

from ddlcn import DDLCNClassifier
from ddlcn.serve import Limits


class Waiting(DDLCNClassifier):
    """A model whose predictions wait."""

    def assess(self, X, class_conditional=False):
        self.started.set()
        assert self.proceed.wait(20)
        return super().assess(X, class_conditional)


def test_full_queue(serve, model, image):
    waiting = Waiting()
    vars(waiting).update(vars(model), started=threading.Event(), proceed=threading.Event())
    codes = []
    with serve(model=waiting, threads=1, limits=Limits(waiting=0)) as client:

        def post() -> None:
            codes.append(client.post("/api/predict", files={"images": image}).status_code)

        first = threading.Thread(target=post)
        first.start()
        assert waiting.started.wait(20)
        refused = [client.post("/api/predict", files={"images": image}), client.get("/api/atoms")]
        waiting.proceed.set()
        first.join()
        for answer in refused:
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        post()
    assert codes == [200, 200]
