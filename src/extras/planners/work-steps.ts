// The steps for each kind of goal, as external tasks: the step catalogue of the embedded planner. The frame around them
// (questions, baseline, review, final checks) is in `draft/frame-tasks.ts`.

import type { Network } from '../../domain/plan.ts'
import { COMMAND_STEPS } from './command-steps.ts'
import type { GoalWords } from './goal.ts'
import type { GoalKind, JudgedGoal } from './goal-kind.ts'
import { NEXT_WISH, type SparedPart, sparedParts } from './goal-limits.ts'
import type { Removal } from './kinds/removal.ts'

/** A classified goal; not every reader provides the last two fields. */
export type FramedGoal = JudgedGoal & {
  readonly unknowns?: readonly string[]
  readonly deadline?: { readonly said: string; readonly at: string | null } | null
}

export interface WorkStep {
  readonly id: string
  readonly title: string
  readonly kind: string
  readonly why: string
  readonly instruction: string
  /** The scope. `holding`: files that contain the word the goal is about. */
  readonly scope: 'sources' | 'tests' | 'both' | 'docs' | 'manifest' | 'new' | 'holding' | 'nothing'
  /** `red`: tests fail for the right reason. `green`: they pass. `end`: the goal's checks hold. `report`: it ends with its report. */
  readonly proof: 'red' | 'green' | 'end' | 'report'
  readonly minutes: number
  /** The name of its text output, which later briefings and the review quote. */
  readonly reports?: string
  readonly risks?: readonly string[]
  /** How to undo it, if reverting files is not enough. */
  readonly rollback?: string
  readonly network?: Network
  /** A person approves it first; `rejected` names the step after a rejection. */
  readonly approval?: { readonly title: string; readonly why: string; readonly rejected?: string }
  /** Runs only after a rejection. */
  readonly isAside?: true
}

type Own = Partial<WorkStep> & Pick<WorkStep, 'id' | 'title' | 'instruction' | 'why'>

const step = (changes: Own): WorkStep => ({
  kind: 'implement',
  scope: 'both',
  proof: 'green',
  minutes: 45,
  ...changes,
})

const looking = (changes: Own & { readonly reports: string }): WorkStep =>
  step({ kind: 'research', scope: 'nothing', proof: 'report', minutes: 20, ...changes })

const testing = (changes: Partial<WorkStep> = {}): WorkStep => ({
  id: 'write-test',
  title: 'Write a test that fails until the goal is reached',
  kind: 'test',
  why: 'A test that fails now and passes later proves the change.',
  instruction:
    'Write the smallest test that shows what the goal asks for, in the style of the tests that are there. Run it: it must fail because that behaviour is missing, not because of a mistake in the test. Change no source.',
  scope: 'tests',
  proof: 'red',
  minutes: 20,
  ...changes,
})

const SPECIFY = looking({
  id: 'specify',
  title: 'Write down what exactly is to be done',
  why: 'The goal leaves open what is meant. Work begins when that is written down and approved.',
  instruction:
    'Read the files listed below and change nothing. End with a specification of at most one page: what will change and in which files, what will stay, and the command or the observation that shows that it is done.',
  reports: 'specification',
})

/** The goal states an unknown. */
export const FIND_OUT = looking({
  id: 'find-out',
  title: 'Find out what is not known yet',
  why: 'The goal names something that nobody knows yet, and the work depends on it.',
  instruction:
    'Answer the open points below by reading, running and measuring; change nothing. End with the answer to each, how you found it, and how sure it is.',
  reports: 'findings',
})

const REMOVE = step({
  id: 'remove',
  title: 'Remove it, and what only it needed',
  instruction:
    'Remove what the goal names, with its exports, tests, documentation and whatever nothing else uses then. Keep all other behaviour. If something still uses it, end with where, and do not remove it.',
  why: 'Something that is gone needs no new test: a check shows that it is gone, and the other tests still pass.',
  scope: 'holding',
  minutes: 15,
  risks: ['code outside this repository may use it'],
})

/** For a removal without a single name to search for. */
const TAKE_OUT: WorkStep = {
  ...REMOVE,
  scope: 'both',
  instruction:
    'Remove what the goal names, with its tests, documentation and whatever nothing else uses then, and adapt what uses it here. Keep all other behaviour.',
  why: 'Something that is gone needs no new test; the other tests still pass.',
}

const REPLACE = step({
  id: 'replace',
  title: 'Replace it everywhere',
  instruction:
    'Put the other one in the place of what the goal wants gone, wherever it is used: source, tests, docs, configuration. Behaviour stays. Take it out of the manifest, and let the package manager write the lock file.',
  why: 'Nothing new is to be tested: the tests pass before and after, and a check shows that it is gone.',
  scope: 'holding',
  risks: ['the two may differ in rare cases'],
})

const TIDY = step({
  id: 'tidy',
  title: 'Make the change, and keep the behaviour',
  instruction:
    'Change what the goal says, everywhere it occurs, and nothing else. Behaviour stays: no test has to change because of it.',
  why: 'Nothing moves, so the tests that pass before and after show that behaviour is kept.',
  minutes: 20,
})

const DEPRECATE = step({
  id: 'deprecate',
  title: 'Mark it as deprecated',
  instruction:
    'Mark it as deprecated in the way that is usual here (an annotation, a comment, a warning), and name what to use instead. It keeps working. Use the other way in the code, the examples and the documentation. Where it warns when it is used, test that it does.',
  why: 'What is deprecated keeps working, so the tests that are there show it.',
  minutes: 20,
  risks: ['code outside this repository uses it'],
})

const TYPES = step({
  id: 'type',
  title: 'Change the types',
  instruction:
    'Change the types that the goal speaks of, and nothing that runs. Where the repository has tests of types, add one that fails without the change. End with what the type checker said before and says now.',
  why: 'A test that runs cannot tell a wrong type: the type checker can, and the other tests still pass.',
  minutes: 20,
  reports: 'verdict',
})

/** Types in the source only; a content type is a value. */
export const isOfTypes = ({ wanted }: GoalWords): boolean =>
  /\btype-safe\b|^\W*(?:typ(?:es?|ings?)(?:\([^)]*\))?: |(?:[\w-]+(?:\([^)]*\))?: )?(?:fix|correct|improve|narrow|widen|tighten|add|update|export|allow)\w* (?:[\w`'"-]+ ){0,3}?(?:typings?\b|type[ -](?:definitions?|hints?|annotations?|inference|declarations?|signatures?|guards?)\b|typescript (?:types?|definitions?)\b|(?:return|generic) types?\b|[^.,;]*\btype support\b|[\w ]*\bTS\d{4}\b|[\w ]*\bdeclaration (?:emit|files?)\b|(?<!content |media |mime |event |error )types? (?:of|for) [`'"\w]))/i.test(
    wanted,
  )

const CORRECT = step({
  id: 'correct',
  title: 'Correct the text',
  kind: 'docs',
  instruction: 'Correct the spelling, and the same mistake wherever it occurs in these files. Change no behaviour.',
  why: 'A change of words needs no new test.',
  scope: 'holding',
  proof: 'end',
  minutes: 5,
})

export const WORK_STEPS: { readonly [kind in GoalKind]: readonly WorkStep[] } = {
  ...COMMAND_STEPS,
  bug: [
    testing({
      id: 'reproduce',
      title: 'Reproduce the bug in a test',
      instruction:
        'Write the smallest test that asks for the right behaviour, in the style of the tests that are there. Run it: it must fail because of the bug that the goal describes. Change no source.',
      why: 'A bug that is not reproduced is not known to be fixed.',
    }),
    step({
      id: 'fix',
      title: 'Fix the cause',
      instruction:
        'Find the cause, beginning at the first file listed, and correct it there, so that the new test and all others pass. Do not hide the error, and do not change the new test.',
      why: 'The change itself, in the files that most likely hold the cause.',
      risks: ['the cause may lie in another file than those listed'],
    }),
  ],
  'failing-test': [
    looking({
      id: 'diagnose',
      title: 'Say why the test fails',
      instruction:
        'Run the failing test alone and read what it tests. Change nothing. End with the cause (file and line), whether the test or the source is wrong, and why.',
      why: 'A failing test is right or wrong; which of both decides what is to be changed.',
      minutes: 15,
      reports: 'cause',
    }),
    step({
      id: 'fix',
      title: 'Make the test pass',
      instruction:
        'Correct what the diagnosis names. Change a test only where the diagnosis says that the test is wrong; never skip or weaken one.',
      why: 'The change itself, where the diagnosis says.',
      risks: ['a test may be made to pass by weakening it: look at the tests in the review'],
    }),
  ],
  rename: [
    step({
      id: 'rename',
      title: 'Rename it everywhere',
      instruction: 'Rename every use: source, tests, docs, configuration. Change nothing else.',
      why: 'A name that is changed in one place only breaks the others.',
      minutes: 20,
      risks: ['the same word may be used for something else', 'callers outside this repository break'],
    }),
  ],
  chore: [
    step({
      id: 'change',
      title: 'Change the settings',
      kind: 'chore',
      instruction:
        'Change what the goal says, in every place that says it today, and nothing else. Take out what only the old state needed.',
      why: 'Settings that say the same thing in several places change together.',
      scope: 'sources',
      minutes: 20,
      risks: ['workflows run elsewhere: they show only there that they work'],
    }),
  ],
  'flaky-test': [
    looking({
      id: 'find-cause',
      title: 'Find out why the test fails only sometimes',
      instruction:
        'Run the test many times, alone and with others, and find what differs: time, order, shared state, randomness, network. Change nothing. End with the cause (file and line) and what makes it fail every time.',
      why: 'A retry hides a flaky test; its cause has to be known.',
      minutes: 40,
      reports: 'cause',
    }),
    step({
      id: 'fix',
      title: 'Remove the cause',
      instruction: 'Remove the cause that was found. No sleeps, no retries, no skipped test.',
      why: 'The change itself, at the cause that was found.',
      risks: ['a rare cause may need more runs to show than the plan makes'],
    }),
  ],
  docs: [
    step({
      id: 'write',
      title: 'Write the documentation',
      kind: 'docs',
      instruction:
        'Write what a reader needs, where a reader looks for it. Run each example, and check every name against the source.',
      why: 'Only documentation is written.',
      scope: 'docs',
      proof: 'end',
      minutes: 30,
    }),
  ],
  tests: [
    testing({
      title: 'Write the tests',
      instruction:
        'Write tests for what the goal names, in the style of the tests that are there. They pass today, and each fails when what it checks is broken. Change no source.',
      why: 'Only tests are written.',
      proof: 'green',
      minutes: 30,
    }),
  ],
  research: [
    looking({
      id: 'answer',
      title: 'Answer the question',
      instruction:
        'Read the files listed, the history and the documentation; run what helps; change nothing. End with the answer in a few sentences, each fact with the file and line or the command it comes from, what is not certain, and what would settle it.',
      why: 'The question was asked to be answered; nothing in the repository is changed.',
      minutes: 40,
      reports: 'answer',
    }),
  ],
  refactor: [
    testing({
      id: 'pin-behaviour',
      title: 'Pin down with tests what must stay',
      instruction:
        'Where the tests do not cover what will be moved, write tests that pass today. If they cover it, change nothing and say so. Change no source.',
      why: 'A refactoring keeps behaviour; only a test that passes before and after can tell.',
      proof: 'green',
    }),
    step({
      id: 'refactor',
      title: 'Refactor in small steps',
      instruction:
        'Change the structure as the goal says, not the behaviour. After each small step all tests must pass.',
      why: 'The change itself, with the tests as a net.',
      minutes: 60,
      risks: ['behaviour that no test covers may change'],
    }),
  ],
  endpoint: [
    looking({
      id: 'contract',
      title: 'Say what the endpoint takes and answers',
      instruction:
        'Read how the endpoints that are there do it; change nothing. End with the contract: method, path, parameters, answers with their status codes, errors, and who may call it.',
      why: 'Whoever calls it depends on its contract more than on its code.',
      minutes: 15,
      reports: 'contract',
    }),
    testing({
      instruction:
        'Write tests of the contract, in the style of the tests of the other endpoints: one for the usual answer, one for each error. Run them: they must fail because the endpoint is missing. Change no source.',
    }),
    step({
      id: 'implement',
      title: 'Add the endpoint',
      instruction:
        'Add what the contract says, beside the endpoints that are there and in their way: validation, errors, permissions, documentation. All tests must pass.',
      why: 'The change itself, beside the endpoints that are there.',
    }),
  ],
  performance: [
    looking({
      id: 'measure',
      title: 'Measure how it is today, and where the time goes',
      kind: 'measure',
      instruction:
        'Measure what the goal calls slow, several times, on fixed input, and profile it. Change nothing in the repository. End with the numbers, the command that measures, and the few places (file and line) that take most of it.',
      why: 'Without a number from before, nobody can say that it got better, and most guesses about the place are wrong.',
      minutes: 40,
      reports: 'measurement',
    }),
    step({
      id: 'improve',
      title: 'Make it faster',
      instruction: 'Change the places that were found, one thing at a time. All tests must pass.',
      why: 'The change itself, where the measurement says.',
      risks: ['faster code may behave differently in rare cases'],
    }),
    looking({
      id: 'measure-again',
      title: 'Measure again',
      kind: 'measure',
      instruction:
        'Repeat the measurement from before, with the same command and input. Change nothing. End with the numbers before and after.',
      why: 'The same measurement, before and after, is the result.',
      minutes: 15,
      reports: 'comparison',
    }),
  ],
  security: [
    looking({
      id: 'assess',
      title: 'Say who can do what with it',
      instruction:
        'Find which input, from whom, reaches which place, and what can be done with it; look for the same mistake elsewhere. Change nothing, and tell nobody outside. End with the attack, and every place (file and line) that is affected.',
      why: 'A fix closes one place; the assessment finds the others.',
      reports: 'attack',
    }),
    testing({
      instruction:
        'Write the attack as a test, in the style of the tests that are there: it asks that the attack is refused. Run it: it must fail because the hole is open. Change no source.',
    }),
    step({
      id: 'fix',
      title: 'Close the hole',
      instruction:
        'Refuse what is not expected, as near as possible to where it comes in, in every place that the assessment names. All tests must pass.',
      why: 'The change itself, in every place that was found.',
      risks: ['a fix that is public before it is installed tells the attack'],
    }),
  ],
  feature: [
    testing(),
    step({
      id: 'implement',
      title: 'Make the change that the goal asks for',
      instruction:
        'Make the smallest change that does what the goal says and makes the new test and all others pass, in the way of the code around it. Do not change the new test.',
      why: 'The change itself, in the way of the code around it.',
    }),
  ],
  'empty-repository': [
    SPECIFY,
    step({
      id: 'scaffold',
      title: 'Set up the project',
      kind: 'chore',
      instruction:
        'Set up the smallest project for this specification that builds and has one test that runs with one command. Write that command into the readme. End with that command.',
      why: 'There is nothing yet that could be tested or changed.',
      scope: 'new',
      proof: 'report',
      minutes: 30,
      reports: 'command',
    }),
    step({
      id: 'implement',
      title: 'Build the first version',
      instruction:
        'Build what was specified, in small steps, each with a test. End with what works, and the command that shows it.',
      why: 'The change itself, in a project that can be tested.',
      scope: 'new',
      proof: 'report',
      minutes: 90,
      reports: 'result',
    }),
  ],
  vague: [
    SPECIFY,
    step({
      id: 'work',
      title: 'Do what was specified',
      instruction: 'Do what the approved specification says, and nothing beyond it.',
      why: 'The change itself; the files are a guess from the words of the goal.',
      risks: ['what was meant may be something else: the specification is approved first'],
    }),
  ],
  contradiction: [
    SPECIFY,
    step({
      id: 'work',
      title: 'Do what was decided',
      instruction: 'Do what the approved specification says, and nothing beyond it.',
      why: 'The change itself, once somebody has decided which of the two applies.',
    }),
  ],
}

/** The steps of this goal: those of its kind, or fewer for a mere removal or spelling correction. */
export function stepsOf(goal: GoalWords, judged: FramedGoal, removal: Removal | null): readonly WorkStep[] {
  const wishes = goal.wanted.split(NEXT_WISH).map(wish => wish.trim().replace(/[.;]$/, ''))
  const each = wishes.length > 1 && goal.wanted.length < 400 ? ` It asks for: ${wishes.join('; ')}.` : ''
  const shown = isShown(goal, judged.kind) ? ' Document what users see.' : ''
  const steps = sparing(ownSteps(goal, judged, removal), sparedParts(goal.limits)).map(step => ({
    ...step,
    instruction: `${step.instruction}${step.id === 'implement' || step.id === 'fix' ? shown : ''}${step.kind === 'chore' ? each : ''}`,
  }))
  return (judged.unknowns ?? []).length > 0 && judged.kind !== 'research' ? [FIND_OUT, ...steps] : steps
}

function ownSteps(goal: GoalWords, { kind }: JudgedGoal, removal: Removal | null): readonly WorkStep[] {
  if (SPELLING.test(goal.wanted) && PLAIN.has(kind)) return [CORRECT]
  if (isDeprecation(goal) && PLAIN.has(kind)) return [DEPRECATE]
  if (isOfTypes(goal) && PLAIN.has(kind)) return [TYPES]
  if (removal === null && kind === 'refactor' && !MOVES.test(goal.wanted))
    return [/^\W*(?:\w+(?:\([^)]*\))?: )?(?:remove|delete|drop)\b/i.test(goal.wanted) ? TAKE_OUT : TIDY]
  if (removal === null) return WORK_STEPS[kind]
  if (!removal.isReplaced) return [REMOVE]
  const isPackage = removal.files.length > 0
  return [isPackage ? REPLACE : { ...REPLACE, instruction: REPLACE.instruction.replace(/ Take it out .*$/, '') }]
}

/** Moving or reshaping code: tests must capture its behaviour first. */
const MOVES =
  /\b(?:extract|split|restructur|move|decoupl|consolidat|rewrit|migrat|port|reorgani[sz]|merg|unif|separat|encapsulat|modulari[sz]|isolat|inlin|deduplicat|refactor(?!(?:\([^)]*\))?!?:)|simplif|refaktor|refator)\w*/i

/** Users set or call it, so the readme describes it. */
export const isShown = (goal: GoalWords, kind: GoalKind): boolean =>
  (kind === 'feature' || kind === 'endpoint' || (kind === 'bug' && ALSO_DOCS.test(goal.wanted))) &&
  !sparedParts(goal.limits).some(part => part === 'docs' || part === 'readme') &&
  (ALSO_DOCS.test(goal.wanted) || SHOWN.test(goal.wanted))

const ALSO_DOCS =
  /(?:\band|,|;|\.)\s+(?:also\s+)?(?:document|mention|describe|explain|update the (?:docs|documentation|readme))\b/i
const SHOWN = /\b(options?|flags?|commands?|parameters?|arguments?|settings?|endpoints?|deprecat\w*)\b|--\w/i

/** Drops steps for protected groups of files, and mentions of them. */
function sparing(steps: readonly WorkStep[], parts: readonly SparedPart[]): readonly WorkStep[] {
  if (parts.length === 0) return steps
  const isSpared = parts.includes('tests')
  return steps
    .filter(({ scope }) => !isSpared || scope !== 'tests')
    .map(step => {
      const words = [...(isSpared ? ['tests'] : []), ...(parts.includes('docs') ? ['docs', 'documentation'] : [])]
      const shortened = step.instruction.replace(new RegExp(`, (?:${words.join('|') || '\\0'})(?=,| and\\b)`, 'g'), '')
      const instruction = shortened
        .replace('the new test and all others', isSpared ? 'all tests' : '$&')
        .replace(/(\.|, and) do not change the new test\./i, isSpared ? '.' : '$&')
      return { ...step, instruction }
    })
}

/** `Deprecate X`: it stays, and the work is in the files that define it. */
export const isDeprecation = ({ wanted }: GoalWords): boolean => /^\W*(?:\w+(?:\([^)]*\))?: )?deprecat/i.test(wanted)

const SPELLING = /\b(typos?|misspell\w*|misspelt|spelling( mistakes?| errors?)?|tippfehler|faute de frappe)\b/i
export const PLAIN: ReadonlySet<GoalKind> = new Set(['bug', 'feature', 'refactor', 'docs', 'vague'])
