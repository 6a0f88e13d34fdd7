"""Share what operators relative to a declared Markov model have in common."""

from fugu.dataflows.files.model_file import read_model, read_model_file
from fugu.dataflows.kinds.families.section import Files
from fugu.dataflows.kinds.families.symbols import AlphabetOperator
from fugu.operators.mechanism import Mechanism
from fugu.operators.sip.markov_model import Chain, MarkovModel
from fugu.operators.sip.sparse_models import SparseMarkovModel

LARGEST_MATRIX = 2_000
"""The most symbols of sparse rows that are written out as a matrix."""


class ModelOperator(AlphabetOperator):
    """Release symbols relative to a declared Markov model."""

    protected = "a user's sequence of symbols, per release: under the model, and without any model"
    example = AlphabetOperator.example + "model: heart-zones.model.json\n"

    model: str
    """The file of the Markov model that says how symbols usually follow each other; public."""

    def chain(self, files: Files) -> Chain:
        """Read the model, which must be about the alphabet of the section."""
        return read_model(files.resolve(self.model), self.alphabet)

    def written_out(self, files: Files) -> Chain:
        """Read the model, with sparse rows as a matrix if they are not too many."""
        chain = self.chain(files)
        if isinstance(chain, SparseMarkovModel) and chain.symbols <= LARGEST_MATRIX:
            return chain.as_matrix()
        return chain

    def matrix(self, files: Files) -> MarkovModel:
        """Read the model as a matrix; sparse rows are written out if they are not too many."""
        chain = self.written_out(files)
        if isinstance(chain, SparseMarkovModel):
            raise ValueError(
                f"model: {self.kind} needs a matrix, and writes sparse rows of at most "
                f"{LARGEST_MATRIX:,} symbols out as one, not of {chain.symbols:,}; merge "
                "symbols, or write kind: crr"
            )
        if not isinstance(chain, MarkovModel):
            raise ValueError(
                f"model: {self.kind} takes a chain of first order, and {self.model} is of second "
                "order; learn one with fugu model learn --order 1, or write kind: crr"
            )
        return chain

    def not_covered(self, *, copies: bool, budget: bool, partials: str) -> list[str]:
        return [
            "another order of a user's records than that in which they are released: those that "
            "fugu redrive releases later come later for the model, too",
            *super().not_covered(copies=copies, budget=budget, partials=partials),
        ]

    def remarks(self, files: Files, mechanism: Mechanism) -> list[str]:
        distance = getattr(self, "distance", None)
        if distance not in ("ordered", "steps") or isinstance(self.alphabet[0], int):
            return []
        if not read_model_file(files.resolve(self.model)).has_sorted_alphabet:
            return []
        ranks = " < ".join(map(str, self.alphabet[:4])) + " < …" * (len(self.alphabet) > 4)
        return [
            f"operator.distance: {distance} ranks the symbols as operator.alphabet lists them, "
            f"{ranks}, and fugu model learn sorted that list by letters. If they have another "
            "order, learn the model again with --alphabet, or with --pipeline and the list in the "
            "file"
        ]
