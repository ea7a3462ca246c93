r"""Which formulas of a stranger's a page may typeset.

A page's typesetter is a language of its own: it makes links, styles, definitions and files,
draws one thing over another, and can be kept busy for minutes. So a command is on a list here,
or its formula is shown as it was written. The list holds what MathJax knows for signs, fonts and
layout. It leaves out what acts (``\href``), what names or defines (``\let``, ``\label``), what
hides other commands (``\verb``), what draws outside of its own place (``\rlap``, ``\raise``,
``\smash``).
"""

from __future__ import annotations

import re
from typing import Final

from chatmagic.render.tex import understood

_DEEPEST: Final = 30  # levels of nesting; 100 fractions in one another crash a browser's tab
_MOST_BACK: Final = 6  # negative spaces; each takes a formula about 0.2 em over what precedes it
_MOST_TWICE: Final = 4  # commands that draw their argument twice; 25 in one another crash a tab
_MOST_LARGE: Final = 3  # a size inside another multiplies: twenty are a hundred pages of nothing

_COMMAND: Final = re.compile(r"\\([A-Za-z]+|.)", re.DOTALL)
# What opens and closes a level; an optional argument, a root, and a style for all that follows
# only open one: what closes them is no word of their own.
_LEVEL: Final = re.compile(
    r"(?P<open>\{|\\(?:left|begin)(?![A-Za-z]))|(?P<close>\}|\\(?:right|end)(?![A-Za-z]))"
    r"|(?P<only>\\(?:root|color|(?:display|text|script|scriptscript)style|[tT]iny|scriptsize|small"
    r"|normalsize|large|Large|LARGE|huge|Huge)(?![A-Za-z])"
    r"|\\(?!left|right|[bB]ig)[A-Za-z]+\s*\[)|\\[A-Za-z]+|\\.",
    re.DOTALL,
)
# Whose arguments are more than formulas: names of environments, how many columns, and colours.
_COLOUR: Final = re.compile(r"\s*(?:\[[A-Za-z]+\]\s*)?\{[A-Za-z\d#., ]*\}")
_ARGUMENT: Final = {
    "begin": re.compile(
        r"\s*\{(?:(?:x?x?alignat\*?|alignedat)\}\s*\{\d\d?|(?P<plain>[A-Za-z]+\*?))\}"
    ),
    "end": re.compile(r"\s*\{[A-Za-z]+\*?\}"),
    "color": _COLOUR,
    "textcolor": _COLOUR,
    "colorbox": _COLOUR,
}
# A length that is negative, or a page of nothing.
_FAR: Final = re.compile(
    r"(?:-\s*(?:\d+(?:[.,]\d*)?|[.,]\d+)|\d{3}(?:[.,]\d*)?)\s*(?:p[tcx]|mu|[cm]m|e[mx]|in)"
)
_LENGTHS: Final = re.compile(
    r"\\(?:rule|[hm]space|m?kern|[hm]skip|genfrac)(?![A-Za-z])|\\(?:\\|cr|newline)\s*\*?\s*\["
)
_BACK: Final = frozenset(["!", "negthinspace", "negmedspace", "negthickspace"])
_TWICE: Final = frozenset(["centernot", "overbracket", "pmb", "underbracket"])
_LARGE: Final = frozenset(["large", "Large", "LARGE", "huge", "Huge"])

_ENVIRONMENTS: Final = frozenset(
    """array matrix pmatrix bmatrix Bmatrix vmatrix Vmatrix smallmatrix psmallmatrix bsmallmatrix
    Bsmallmatrix vsmallmatrix Vsmallmatrix matrix* pmatrix* bmatrix* Bmatrix* vmatrix* Vmatrix*
    cases cases* dcases dcases* rcases rcases* drcases drcases* numcases subnumcases CD subarray
    equation equation* eqnarray eqnarray* align align* aligned flalign flalign* gather gather*
    gathered lgathered rgathered multline multline* multlined split""".split()  # noqa: SIM905 - as below
)
_COMMANDS: Final = frozenset(
    """
    alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho
    sigma tau upsilon phi chi psi omega varepsilon vartheta varpi varrho varsigma varphi
    digamma varkappa Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega varGamma
    varDelta varTheta varLambda varXi varPi varSigma varUpsilon varPhi varPsi varOmega upalpha
    upbeta upgamma updelta upepsilon upzeta upeta uptheta upiota upkappa uplambda upmu upnu
    upxi uppi uprho upsigma uptau upupsilon upphi upchi uppsi upomega Upgamma Updelta Uptheta
    Uplambda Upxi Uppi Upsigma Upupsilon Upphi Uppsi Upomega S aleph beth gimel daleth hbar
    hslash imath jmath ell wp Re Im partial infty prime backprime emptyset varnothing nabla
    top bot angle measuredangle sphericalangle triangle backslash forall exists nexists neg
    lnot flat natural sharp clubsuit diamondsuit heartsuit spadesuit complement mho eth Finv
    Game Bbbk yen checkmark maltese circledR circledS bigstar blacktriangle triangledown
    blacktriangledown square Box blacksquare lozenge Diamond blacklozenge diagup diagdown
    surd coprod bigvee bigwedge biguplus bigcap bigcup int intop iint iiint iiiint idotsint
    prod sum bigotimes bigoplus bigodot oint bigsqcup smallint triangleleft triangleright
    bigtriangleup bigtriangledown wedge land vee lor cap cup ddagger dagger sqcap sqcup uplus
    amalg diamond bullet wr div odot oslash otimes ominus oplus mp pm circ bigcirc setminus
    cdot ast times star bigtimes dotplus ltimes smallsetminus rtimes Cap doublecap
    leftthreetimes Cup doublecup rightthreetimes barwedge curlywedge veebar curlyvee
    doublebarwedge boxminus circleddash boxtimes circledast boxdot circledcirc boxplus
    centerdot divideontimes intercal arccos arcsin arctan arg cos cosh cot coth csc deg det
    dim exp gcd hom inf injlim ker lg lim liminf limsup ln log max min Pr projlim sec sin sinh
    sup tan tanh varinjlim varliminf varlimsup varprojlim bmod pmod mod pod limits nolimits
    operatorname
    propto sqsubseteq sqsupseteq parallel mid dashv vdash leq le geq ge lt gt succ prec approx
    succeq preceq supset subset supseteq subseteq in ni notin owns gg ll sim simeq perp equiv
    asymp smile frown ne neq cong doteq bowtie models not leqq geqq leqslant geqslant
    eqslantless eqslantgtr lesssim gtrsim lessapprox gtrapprox approxeq lessdot gtrdot lll
    llless ggg gggtr lessgtr gtrless lesseqgtr gtreqless lesseqqgtr gtreqqless doteqdot Doteq
    eqcirc risingdotseq circeq fallingdotseq triangleq backsim thicksim backsimeq thickapprox
    subseteqq supseteqq Subset Supset sqsubset sqsupset preccurlyeq succcurlyeq curlyeqprec
    curlyeqsucc precsim succsim precapprox succapprox vartriangleleft lhd vartriangleright rhd
    trianglelefteq unlhd trianglerighteq unrhd vDash Vdash Vvdash smallsmile shortmid
    smallfrown shortparallel bumpeq between Bumpeq pitchfork varpropto backepsilon
    blacktriangleleft blacktriangleright therefore because eqsim vartriangle Join nless ngtr
    nleq ngeq nleqslant ngeqslant nleqq ngeqq lneq gneq lneqq gneqq lvertneqq gvertneqq lnsim
    gnsim lnapprox gnapprox nprec nsucc npreceq nsucceq precneqq succneqq precnsim succnsim
    precnapprox succnapprox nsim ncong nshortmid nshortparallel nmid nparallel nvdash nvDash
    nVdash nVDash ntriangleleft ntriangleright ntrianglelefteq ntrianglerighteq nsubseteq
    nsupseteq nsubseteqq nsupseteqq subsetneq supsetneq varsubsetneq varsupsetneq subsetneqq
    supsetneqq varsubsetneqq varsupsetneqq centernot centercolon ordinarycolon coloneqq
    Coloneqq coloneq Coloneq eqqcolon Eqqcolon eqcolon Eqcolon colonapprox Colonapprox
    colonsim Colonsim dblcolon vcentcolon
    Leftrightarrow Leftarrow Rightarrow leftrightarrow leftarrow gets rightarrow to mapsto
    leftharpoonup leftharpoondown rightharpoonup rightharpoondown nearrow searrow nwarrow
    swarrow rightleftharpoons hookrightarrow hookleftarrow longleftarrow Longleftarrow
    longrightarrow Longrightarrow Longleftrightarrow longleftrightarrow longmapsto uparrow
    downarrow updownarrow Uparrow Downarrow Updownarrow nuparrow ndownarrow iff implies
    impliedby leftleftarrows rightrightarrows leftrightarrows rightleftarrows Lleftarrow
    Rrightarrow twoheadleftarrow twoheadrightarrow leftarrowtail rightarrowtail looparrowleft
    looparrowright leftrightharpoons curvearrowleft curvearrowright circlearrowleft
    circlearrowright Lsh Rsh upuparrows downdownarrows upharpoonleft upharpoonright
    downharpoonleft restriction multimap downharpoonright leftrightsquigarrow rightsquigarrow
    leadsto dashrightarrow dashleftarrow nleftarrow nrightarrow nLeftarrow nRightarrow
    nleftrightarrow nLeftrightarrow xrightarrow xleftarrow xleftrightarrow xLeftarrow
    xRightarrow xLeftrightarrow xhookleftarrow xhookrightarrow xmapsto xrightharpoondown
    xleftharpoondown xrightleftharpoons xrightharpoonup xleftharpoonup xleftrightharpoons
    xtwoheadrightarrow xtwoheadleftarrow xlongequal xtofrom
    lmoustache rmoustache lgroup rgroup arrowvert Arrowvert bracevert Vert vert lvert rvert
    lVert rVert rangle langle rbrace lbrace rceil lceil rfloor lfloor lbrack rbrack lparen
    rparen ulcorner urcorner llcorner lrcorner left right middle big Big bigg Bigg bigl Bigl
    biggl Biggl bigr Bigr biggr Biggr bigm Bigm biggm Biggm
    ldots cdots vdots ddots dots dotsc dotsb dotsm dotsi dotso ldotp cdotp colon acute grave
    ddot dddot ddddot tilde bar breve check hat vec dot mathring widetilde widehat overline
    underline overbrace underbrace overbracket underbracket overparen underparen
    overrightarrow underrightarrow overleftarrow underleftarrow overleftrightarrow
    underleftrightarrow enspace quad qquad thinspace medspace thickspace negthinspace
    negmedspace negthickspace nobreakspace space hskip hspace kern mskip mspace mkern hfil
    hfill strut mathstrut phantom vphantom hphantom
    over atop brace brack choose frac tfrac dfrac cfrac binom tbinom dbinom genfrac splitfrac
    splitdfrac sqrt root overset underset stackrel stackbin sideset substack buildrel of boxed
    fbox cancel bcancel xcancel cancelto mathord mathop mathopen mathclose mathbin mathrel
    mathpunct mathinner vcenter color textcolor colorbox rule tag notag nonumber begin end cr
    newline hline hdashline shoveleft shoveright bra ket braket set Bra Ket Braket Set ketbra
    Ketbra ce pu
    displaystyle textstyle scriptstyle scriptscriptstyle rm mit oldstyle cal it bf scr frak sf
    tt mathrm mathup mathnormal mathbf mathbfup mathit mathbfit mathbb Bbb mathfrak mathbffrak
    mathscr mathbfscr mathsf mathsfup mathbfsf mathbfsfup mathsfit mathbfsfit mathtt mathcal
    mathbfcal symrm symup symnormal symbf symbfup symit symbfit symbb symfrak symbffrak symscr
    symbfscr symsf symsfup symbfsf symbfsfup symsfit symbfsfit symtt symcal symbfcal
    boldsymbol pmb textrm textup textnormal textit textbf textsf texttt emph text hbox mbox tiny
    Tiny scriptsize small normalsize large Large LARGE huge Huge TeX LaTeX
    textasciicircum textasciitilde textbackslash textbar textbraceleft textbraceright
    textbullet textdagger textdegree textellipsis textemdash textendash texteuro textgreater
    textless textmu textohm textperthousand textquotedblleft textquotedblright textquoteleft
    textquoteright textregistered textsection textsterling texttimes texttrademark
    textunderscore textyen textcent textcopyright degree celsius perthousand ohm micro
    """.split()  # noqa: SIM905 - a word a line would be twenty pages
)


def goes_back(tex: str) -> bool:
    """Say whether a formula has negative spaces, and so may be narrower than nothing."""
    return any(name in _BACK for name in _COMMAND.findall(tex))


def typesettable(tex: str) -> bool:
    """Say whether a page may typeset a formula.

    It reaches out of nothing, keeps to its own place, takes no long time, and has no error.

    Args:
        tex: the formula without its delimiters.
    """
    names: list[str] = _COMMAND.findall(tex)
    return (
        all(name in _COMMANDS or not (name.isascii() and name.isalpha()) for name in names)
        and sum(name in _BACK for name in names) <= _MOST_BACK
        and sum(name in _TWICE for name in names) <= _MOST_TWICE
        and sum(name in _LARGE for name in names) <= _MOST_LARGE
        and not (_LENGTHS.search(tex) and _FAR.search(tex))
        and all(_argued(tex, match) for match in _COMMAND.finditer(tex) if match[1] in _ARGUMENT)
        and _plainly_nested(tex)
        and understood(tex)
    )


def _argued(tex: str, match: re.Match[str]) -> bool:
    """Say whether a command has an argument of the kind that it takes."""
    argument = _ARGUMENT[match[1]].match(tex, match.end())
    if argument is None:
        return False
    plain = argument["plain"] if match[1] == "begin" else None
    return plain is None or plain in _ENVIRONMENTS


def _plainly_nested(tex: str) -> bool:
    """Say whether its levels are few, and are what they seem.

    A comment would hide a brace from this count, and a brace without its other half would let
    a page join the formula with the next one.
    """
    level = braces = 0
    for match in _LEVEL.finditer(tex):
        level = max(level + {"open": 1, "only": 1, "close": -1}.get(match.lastgroup or "", 0), 0)
        braces += {"{": 1, "}": -1}.get(match[0], 0)
        if level > _DEEPEST or braces < 0:
            return False
    return braces == 0 and not re.search(r"(?<!\\)(?:\\\\)*%", tex)
