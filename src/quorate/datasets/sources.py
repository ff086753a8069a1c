"""The public crowds with known truth: the question, the publication, and the address and sha256 of each file."""

from dataclasses import dataclass

_GITHUB = "https://raw.githubusercontent.com/"
_SNOW = _GITHUB + "maqqbu/MMSR/c85b4cc2419cd553cb2efea03ad62124f94aba32/original_datasets/all_collected_data/"
_ZHANG = _GITHUB + "zhangyuc/SpectralMethodsMeetEM/6204f5fcab1766cb1b2c40fc1bff53b1613ddc6c/src/"
_TOOLKIT = _GITHUB + "orchidproject/active-crowd-toolkit/2c0c194e85ca126545bd830d811ec39151bdd448/Data/"
_ZHENG = _GITHUB + "zhydhkcws/crowd_truth_infer/8d216471071f09b9e474ee19f8d692447f982f88/datasets/"
_FACE = _ZHENG + "s4_Face%20Sentiment%20Identification/"
_GAL = _GITHUB + "ipeirotis/Get-Another-Label/9fe6c56a7a157dba1a12018f696bad56806125b7/data/BarzanMozafari/"
_LABELME = _GITHUB + "fmenat/PyLearningCrowds/0edf617d0357a43b48dc53f10f4181ec0163d4db/data/LabelMe/"
_DTYPE = _GITHUB + "iids88/dtype/2b7dfa5b67355402305cf27f63b8629bcdc5aadc/data/"
_SLR = _GITHUB + "pmaglione/crowd-datasets/3efbceb525a13685355fd3d306b7ce1453302eb9/SLR/"
_CIFAR = _GITHUB + "cambridge-mlg/cifar-10s/86b114f0257ad88e36add572db3dd69dbca0fdf7/cifar10s_data/"

# Path of a source file in QUORATE_DATA or the cache -> address of the publisher's folder, sha256.
FILES = {
    "rte.standardized.tsv": (_SNOW, "3187c5de59b9b9c596d490d25b5f5f108090a35cbdd10e81f21e6d1939d6ba79"),
    "temp.standardized.tsv": (_SNOW, "7f74de9f36a0d3dfdc1f51e6433526abfc788c616d0c2d04a96206780ac74860"),
    "wsd.standardized.tsv": (_SNOW, "77b77c0f63803bcb62d3a15c199e301bacbd4dbe012278600bd34f1e5f8a8ed9"),
    "dog_crowd.txt": (_ZHANG, "1b5c88e0e6c08b8bcfb27be2c43093af06a0d649edc6a65ad719d5204b894b24"),
    "dog_truth.txt": (_ZHANG, "e1378e027b6e51b664b0c75a61e638d71bbede890cd4af2a2c4dae3718596d24"),
    "web_crowd.txt": (_ZHANG, "5b1ad44cebdcf59d42c83393a7dc3f4aa46746f5428c4caac275350247da6d6f"),
    "web_truth.txt": (_ZHANG, "7ff13173d6ad447e6959fa5226bcbef756ebe34d712eae908de30036824fc94f"),
    "bluebird_crowd.txt": (_ZHANG, "a63231e23dc02d0873d76669684812f9bad53a73f0580f43f4295175987f347e"),
    "bluebird_truth.txt": (_ZHANG, "690660bf75f24d052bec3bb55bb8dc5f7ebdadbaf36de5db9a031221f2db2ce3"),
    "trec_crowd.txt": (_ZHANG, "821141b1e95b1ff516ebccf6869f2ac88ca93035d6991b8039d76275866de402"),
    "trec_truth.txt": (_ZHANG, "405b4ff78e79b912252f19ff68116e71abe3a21c2051c7c701e7a16acbeae3e4"),
    "more/weather_cf/CF.csv": (_TOOLKIT, "18bc4dc1780ce1f2b2f9ffedc493f4b8f9a4590a3fde8dce2e5d3367bcc8686e"),
    "more/weather_amt/CF_amt.csv": (_TOOLKIT, "c44d4bf3cbf08f343072d86a10e9085ab91885a2b4bbb1d0d03eb2cd461f6c5b"),
    "more/music_genre/MS.csv": (_TOOLKIT, "fb9e0b146723c93dac71d1ed601a736cf94fed3b444f4921d6c4e57b4505c06a"),
    "more/zencrowd_all/ZenCrowd_all.csv": (
        _TOOLKIT,
        "88dff5161ab4c13951ef7c211745eca8a602884f75be55085aec44beda005ca9",
    ),
    "more/product/answer.csv": (
        _ZHENG + "d_jn-product/",
        "ca69e3f2cba3d6f9c3b3ecc2f8d2a81afcd747d0b91aa5ab18608a5715e26adc",
    ),
    "more/product/truth.csv": (
        _ZHENG + "d_jn-product/",
        "9a5757c726ef1a32b05f6a675924c483b24d602c61b1a2d087ab3d84f90b3766",
    ),
    "more/face/answer.csv": (_FACE, "9e98c7c56ea1967ca9d3e2396b9abd469e96ee47a52a0103c917397adbb98f9b"),
    "more/face/truth.csv": (_FACE, "c324c79fd7196d16cb638d956ec90209e405b0010741ffb5ecb1b6316f48cc4c"),
    "more/bm/labels.txt": (_GAL, "d82f0c9d0f221ca2fcd25c05f74228a9980cbe6dbaf959295da40784378cf1f9"),
    "more/bm/evaluation.txt": (_GAL, "4bcec34f1efca8607260fa14e39e22eb4b163b8779ede749c98b65346964ebc9"),
    "more/labelme/answers.txt": (_LABELME, "354c282e10835a59962494acb1d180fe997b65a0aa1e27f870cdb4ef51ef3e2b"),
    "more/labelme/LabelMe_Z_train.txt": (_LABELME, "229556bdc5da327dd7d4e4154ba180969091c83f43cf8cbee3727131c5a062f6"),
    "more/athlete/ans_athlete.csv": (_DTYPE, "de31b6524118bf07dbe7e01191d0f1fe8a23be24f519ea417b4898d956b92378"),
    "more/athlete/gt_athlete.csv": (_DTYPE, "617f6bbe8ae885b5f660faba8bbbb7ae761141756594054d982bd62059f0ba9d"),
    "more/netflix/ans_netflix.csv": (_DTYPE, "ebe77c746b941973e89575ed7656daa64a19cfc602b41e05d4a357b4521ae175"),
    "more/netflix/gt_netflix.csv": (_DTYPE, "b2901a7835687ab0ed5427d4728727966b2ccf93445077b8d7ed631670acf26d"),
    "more/slr/crowd-data.csv": (_SLR, "189a40ef098516fb5bea62a3e9d624ecba86d9a08074007b011ca1dca3e58fec"),
    "more/cifar10s/raw_human_data.csv": (_CIFAR, "e1dd26bfd75a00cb4e9e875a4ad7a02b3f16a3bd318a165b4693c059c85d0eb0"),
}


@dataclass(frozen=True)
class Published:
    """A data set as published."""

    name: str
    about: str
    files: tuple[str, ...]  # keys of FILES
    citation: str
    layout: str  # key of `quorate.datasets.layouts.LAYOUTS`
    question: str = ""  # question to read, if a file has several

    @property
    def addresses(self) -> tuple[str, ...]:
        """Addresses of the files."""
        return tuple(address_of(file) for file in self.files)


def address_of(file: str) -> str:
    """Return the address of a source file.

    >>> address_of("trec_truth.txt")
    'https://raw.githubusercontent.com/zhangyuc/SpectralMethodsMeetEM/6204f5fcab1766cb1b2c40fc1bff53b1613ddc6c/src/...
    """
    return FILES[file][0] + file.rpartition("/")[2]


_WEATHER = "Venanzi et al. 2014"
_DTYPE_PAPER = "Kim, Lee and Chung 2023"
_SLR_PAPER = "Krivosheev, Casati and Benatallah 2018"
_MOZAFARI = "Mozafari et al. 2014"

SOURCES = {
    source.name: source
    for source in (
        Published(
            "rte1", "Does a text entail a sentence? Yes or no.", ("rte.standardized.tsv",), "Snow et al. 2008", "snow"
        ),
        Published("temp", "Which of two events came first?", ("temp.standardized.tsv",), "Snow et al. 2008", "snow"),
        Published(
            "wsd", "Which of three senses does 'president' have?", ("wsd.standardized.tsv",), "Snow et al. 2008", "snow"
        ),
        Published(
            "dogs", "Which of four breeds is the dog?", ("dog_crowd.txt", "dog_truth.txt"), "Zhou et al. 2012", "zhang"
        ),
        Published(
            "web",
            "How relevant is a page, in five grades?",
            ("web_crowd.txt", "web_truth.txt"),
            "Zhou et al. 2012",
            "zhang",
        ),
        Published(
            "bluebird",
            "Indigo bunting or blue grosbeak? Every worker answered every task.",
            ("bluebird_crowd.txt", "bluebird_truth.txt"),
            "Welinder et al. 2010",
            "zhang",
        ),
        Published(
            "trec",
            "Is a document relevant? Few tasks have a known answer.",
            ("trec_crowd.txt", "trec_truth.txt"),
            "Buckley, Lease and Smucker 2010; Lease and Kazai 2011",
            "zhang",
        ),
        Published(
            "weather_cf",
            "What kind of weather does a tweet describe?",
            ("more/weather_cf/CF.csv",),
            _WEATHER,
            "toolkit",
        ),
        Published(
            "weather_amt",
            "The same tweets, labelled by other workers.",
            ("more/weather_amt/CF_amt.csv",),
            _WEATHER,
            "toolkit",
        ),
        Published(
            "music_genre",
            "Which of ten genres has a piece of music?",
            ("more/music_genre/MS.csv",),
            "Rodrigues, Pereira and Ribeiro 2013",
            "toolkit",
        ),
        Published(
            "zencrowd_all",
            "Does a page describe a name in the news? Of two different answers, the last is used.",
            ("more/zencrowd_all/ZenCrowd_all.csv",),
            "Demartini, Difallah and Cudré-Mauroux 2012",
            "toolkit",
        ),
        Published(
            "product",
            "Are two products the same?",
            ("more/product/answer.csv", "more/product/truth.csv"),
            "Wang et al. 2012; Zheng et al. 2017",
            "zheng",
        ),
        Published(
            "face",
            "Which of four feelings does a face show?",
            ("more/face/answer.csv", "more/face/truth.csv"),
            f"{_MOZAFARI}; Zheng et al. 2017",
            "zheng",
        ),
        Published(
            "bm",
            "Is a tweet friendly or not?",
            ("more/bm/labels.txt", "more/bm/evaluation.txt"),
            _MOZAFARI,
            "get_another_label",
        ),
        Published(
            "labelme",
            "Which of eight scenes does a picture show?",
            ("more/labelme/answers.txt", "more/labelme/LabelMe_Z_train.txt"),
            "Rodrigues et al. 2017",
            "matrix",
        ),
        Published(
            "athlete",
            "Which of two sports does an athlete do? Each worker knows one kind of task.",
            ("more/athlete/ans_athlete.csv", "more/athlete/gt_athlete.csv"),
            _DTYPE_PAPER,
            "numbered",
        ),
        Published(
            "netflix",
            "Which of two statements about a film is true? Each worker knows one kind of task.",
            ("more/netflix/ans_netflix.csv", "more/netflix/gt_netflix.csv"),
            _DTYPE_PAPER,
            "numbered",
        ),
        *(
            Published(f"slr_{name}", about, ("more/slr/crowd-data.csv",), _SLR_PAPER, "screening", name)
            for name, about in (
                ("intervention", "Does a paper report an intervention? Of two different answers, the last is used."),
                ("tech", "Does a paper report a use of technology?"),
                ("older", "Is a paper about older adults?"),
            )
        ),
        Published(
            "cifar10s",
            "Which of ten things does a small picture show?",
            ("more/cifar10s/raw_human_data.csv",),
            "Collins, Bhatt and Weller 2022",
            "survey",
        ),
    )
}
SEVEN = tuple(SOURCES)[:7]  # sets on which papers compare methods; the others are not used for tuning
