// What has to be done for each kind of goal, as steps that an agent or a person claims: the templates of the embedded planner. What
// frames them (questions, baseline, review, definition of done) is the same for all, in `compose-plan.ts`.

import type { GoalKind } from './goal-kind.ts'

export interface WorkStep {
  readonly id: string
  readonly title: string
  readonly kind: string
  readonly why: string
  readonly instruction: string
  /** Which files it may write. */
  readonly scope: 'sources' | 'tests' | 'both' | 'docs' | 'manifest' | 'new' | 'nothing'
  /** `red`: afterwards the tests must fail, for the right reason. `green`: they must pass. `end`: the checks of the goal must hold. */
  readonly proof: 'red' | 'green' | 'end' | 'told'
  readonly minutes: number
  /** What is to be reported, by name. */
  readonly reports?: { readonly [name: string]: string }
  readonly risks?: readonly string[]
}

const TESTS_FIRST: WorkStep = {
  id: 'write-test',
  title: 'Write a test that fails until the goal is reached',
  kind: 'test',
  why: 'A test that fails now and passes later is the proof that the change does what the goal asks.',
  instruction:
    'Write the smallest test that shows what the goal asks for. Run it: it must fail, and for that reason only. Change no source.',
  scope: 'tests',
  proof: 'red',
  minutes: 20,
}

const step = (changes: Partial<WorkStep> & Pick<WorkStep, 'id' | 'title' | 'instruction' | 'why'>): WorkStep => ({
  kind: 'implement',
  scope: 'both',
  proof: 'green',
  minutes: 45,
  ...changes,
})

const looking = (changes: Partial<WorkStep> & Pick<WorkStep, 'id' | 'title' | 'instruction' | 'why'>): WorkStep =>
  step({ kind: 'research', scope: 'nothing', proof: 'told', minutes: 20, ...changes })

const SPECIFY = looking({
  id: 'specify',
  title: 'Write down what exactly is to be done',
  why: 'The goal leaves open what is meant. Work begins when that is written down and approved.',
  instruction:
    'From the answers and from the repository, write what will change, what will stay, and how one will see that it is done. One page at most.',
  reports: { specification: 'text', check: 'text' },
})

export const WORK_STEPS: { readonly [kind in GoalKind]: readonly WorkStep[] } = {
  bug: [
    {
      ...TESTS_FIRST,
      id: 'reproduce',
      title: 'Reproduce the bug in a test',
      instruction:
        'Write the smallest test that shows the bug. Run it: it must fail with the error of the goal. Change no source.',
      why: 'A bug that is not reproduced is not known to be fixed.',
    },
    step({
      id: 'fix',
      title: 'Fix the cause',
      instruction:
        'Find the cause, beginning at the first file listed, and fix it there. Do not hide the error. All tests must pass.',
      why: 'The change itself, in the files that most likely hold the cause.',
      risks: ['the cause may lie in another file than those listed'],
    }),
  ],
  'failing-test': [
    looking({
      id: 'diagnose',
      title: 'Say why the test fails',
      instruction: 'Run the failing test alone. Say whether the test or the source is wrong, and why.',
      why: 'A failing test is right or wrong; which of both decides what is to be changed.',
      minutes: 15,
      reports: { cause: 'text' },
    }),
    step({
      id: 'fix',
      title: 'Make the test pass',
      instruction:
        'Correct the source. Change a test only where the diagnosis says that the test is wrong; never skip or weaken one.',
      why: 'The change itself.',
      risks: ['a test may be made to pass by weakening it: look at the tests in the review'],
    }),
  ],
  'failing-command': [
    looking({
      id: 'diagnose',
      title: 'Say why the command fails',
      instruction: 'Run the command. Say what it complains about, and where.',
      why: 'What the command prints names the place.',
      minutes: 15,
      reports: { cause: 'text' },
    }),
    step({
      id: 'fix',
      title: 'Make the command succeed',
      instruction: 'Correct what the command complains about. Never weaken its settings.',
      why: 'The change itself.',
      proof: 'end',
    }),
  ],
  rollout: [
    looking({
      id: 'prepare',
      title: 'Say how it is deployed, measured and taken back',
      instruction:
        'From the repository: the command that deploys, how a part of the traffic is chosen, what is measured, how it is reverted.',
      why: 'A rollout that cannot be measured or taken back is no rollout in stages.',
      reports: { steps: 'text' },
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
  'dependency-update': [
    looking({
      id: 'read-changes',
      title: 'Read what changed between the versions',
      instruction:
        'Read the release notes from the version used now to the new one. List what breaks, and where it is used here.',
      why: 'What breaks is known before it breaks.',
      reports: { breaking: 'text', version: 'text' },
    }),
    step({
      id: 'update',
      title: 'Update the dependency',
      kind: 'chore',
      instruction: 'Change the version with the package manager, so that the lock file fits. Change no source yet.',
      why: 'The version and the lock file change together, and apart from the source.',
      scope: 'manifest',
      proof: 'end',
      minutes: 10,
    }),
    step({
      id: 'adapt',
      title: 'Adapt the source to the new version',
      instruction: 'Change what the new version demands, and nothing else. All tests must pass.',
      why: 'Whatever the new version broke is put right here.',
    }),
  ],
  'flaky-test': [
    looking({
      id: 'find-cause',
      title: 'Find out why the test fails only sometimes',
      instruction:
        'Run the test many times, alone and with others, and find what differs: time, order, shared state, randomness, network.',
      why: 'A retry hides a flaky test; its cause has to be known.',
      minutes: 40,
      reports: { cause: 'text' },
    }),
    step({
      id: 'fix',
      title: 'Remove the cause',
      instruction: 'Remove the cause that was found. No sleeps, no retries, no skipped test.',
      why: 'The change itself.',
      risks: ['a rare cause may need more runs to show than the plan makes'],
    }),
  ],
  docs: [
    step({
      id: 'write',
      title: 'Write the documentation',
      kind: 'docs',
      instruction:
        'Write what a reader needs to do it, with an example that was run. Check every name against the source.',
      why: 'The change itself; only documentation is written.',
      scope: 'docs',
      proof: 'end',
      minutes: 30,
    }),
  ],
  tests: [
    {
      ...TESTS_FIRST,
      title: 'Write the tests',
      instruction:
        'Write tests for what the goal names. They pass today, and each fails when what it checks is broken. Change no source.',
      why: 'The change itself; only tests are written.',
      proof: 'green',
      minutes: 30,
    },
  ],
  research: [
    looking({
      id: 'gather',
      title: 'Gather what is known',
      instruction: 'Read the files listed, the history and the documentation. Note each fact with where it was found.',
      why: 'An answer is worth as much as the facts it stands on.',
      minutes: 30,
      reports: { findings: 'list[text]' },
    }),
    looking({
      id: 'answer',
      title: 'Answer the question',
      instruction:
        'Answer in a few sentences, from the findings. Say what is certain, what is not, and what would settle it.',
      why: 'The question was asked to be answered; nothing in the repository is changed.',
      reports: { answer: 'text', open: 'text' },
    }),
  ],
  refactor: [
    {
      ...TESTS_FIRST,
      id: 'pin-behaviour',
      title: 'Pin down with tests what must stay',
      instruction: 'Where the tests do not cover what will be moved, write tests that pass today. Change no source.',
      why: 'A refactoring keeps behaviour; only a test that passes before and after can tell.',
      proof: 'green',
    },
    step({
      id: 'refactor',
      title: 'Refactor in small steps',
      instruction: 'Change the structure, not the behaviour. After each small step all tests must pass.',
      why: 'The change itself.',
      minutes: 60,
      risks: ['behaviour that no test covers may change'],
    }),
  ],
  endpoint: [
    looking({
      id: 'contract',
      title: 'Say what the endpoint takes and answers',
      instruction: 'Method, path, parameters, answer, errors, who may call it; as the endpoints that are there do it.',
      why: 'Whoever calls it depends on its contract more than on its code.',
      minutes: 15,
      reports: { contract: 'text' },
    }),
    TESTS_FIRST,
    step({
      id: 'implement',
      title: 'Add the endpoint',
      instruction:
        'Add it beside those that are there and in their way: validation, errors, permissions, documentation.',
      why: 'The change itself.',
    }),
  ],
  performance: [
    looking({
      id: 'measure',
      title: 'Measure how it is today',
      kind: 'measure',
      instruction:
        'Measure what the goal calls slow, several times, on fixed input. Report the numbers and the command.',
      why: 'Without a number from before, nobody can say that it got faster.',
      reports: { before: 'text', command: 'text' },
    }),
    looking({
      id: 'find-cause',
      title: 'Find where the time goes',
      instruction: 'Profile it. Name the few places that take most of the time.',
      why: 'Most guesses about slow code are wrong.',
      reports: { cause: 'text' },
    }),
    step({
      id: 'improve',
      title: 'Make it faster',
      instruction: 'Change the place that was found, one thing at a time. All tests must pass.',
      why: 'The change itself.',
      risks: ['faster code may behave differently in rare cases'],
    }),
    looking({
      id: 'measure-again',
      title: 'Measure again',
      kind: 'measure',
      instruction: 'The same measurement as before. Report the numbers.',
      why: 'The same measurement, before and after, is the result.',
      minutes: 15,
      reports: { after: 'text' },
    }),
  ],
  security: [
    looking({
      id: 'assess',
      title: 'Say who can do what with it',
      instruction:
        'Which input, from whom, reaches which place, and what can be done with it. Look for the same mistake elsewhere. Tell nobody outside.',
      why: 'A fix closes one place; the assessment finds the others.',
      reports: { attack: 'text', affected: 'list[text]' },
    }),
    { ...TESTS_FIRST, instruction: `${TESTS_FIRST.instruction} The test is the attack.` },
    step({
      id: 'fix',
      title: 'Close the hole',
      instruction:
        'Refuse what is not expected, as near as possible to where it comes in. Fix every place that was found.',
      why: 'The change itself.',
      risks: ['a fix that is public before it is installed tells the attack'],
    }),
  ],
  feature: [
    TESTS_FIRST,
    step({
      id: 'implement',
      title: 'Implement it',
      instruction:
        'The smallest change that makes the test pass, in the way of the code around it. Document what users see.',
      why: 'The change itself.',
    }),
  ],
  'empty-repository': [
    SPECIFY,
    step({
      id: 'scaffold',
      title: 'Set up the project',
      kind: 'chore',
      instruction:
        'The smallest project that builds and has one test that runs with one command. Write that command into the readme.',
      why: 'There is nothing yet that could be tested or changed.',
      scope: 'new',
      proof: 'told',
      minutes: 30,
      reports: { testCommand: 'text' },
    }),
    step({
      id: 'implement',
      title: 'Build the first version',
      instruction: 'What was specified, in small steps, each with a test.',
      why: 'The change itself.',
      scope: 'new',
      proof: 'told',
      minutes: 90,
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
