// JSON Schemas of the model's answers, and the matching types. A model can only express what is here: no policy, no approvers, no
// expressions.

import type { JsonObject } from '../../../domain/json.ts'

const text = (about: string): JsonObject => ({ type: 'string', description: about })
const texts = (about: string): JsonObject => ({ type: 'array', items: { type: 'string' }, description: about })
const list = (items: JsonObject, about: string): JsonObject => ({ type: 'array', items, description: about })
const map = (properties: JsonObject, required: readonly string[]): JsonObject => ({
  type: 'object',
  properties,
  required: [...required],
  additionalProperties: false,
})

export interface Check {
  readonly text: string
  readonly command?: readonly string[]
}

const CHECK = map(
  {
    text: text('what must hold, in one sentence'),
    command: texts(
      'program and arguments of a command that only looks and exits with 0 when it holds; empty when a person judges it',
    ),
  },
  ['text'],
)

/** The understanding of the goal before any steps. */
export interface Intake {
  readonly objective: string
  readonly inScope?: readonly string[]
  readonly outOfScope?: readonly string[]
  readonly constraints?: readonly string[]
  readonly done: readonly Check[]
  readonly unknowns: readonly Unknown[]
}

export interface Unknown {
  readonly question: string
  readonly why: string
  readonly answeredBy: 'person' | 'research'
  /** The default assumption; absent or empty if nothing may be assumed. */
  readonly otherwise?: string
}

export const INTAKE: JsonObject = map(
  {
    objective: text('what will be different afterwards, in one or two sentences'),
    inScope: texts('what belongs to it'),
    outOfScope: texts('what does not'),
    constraints: texts('limits that the goal names'),
    done: list(CHECK, 'how one sees that it is done'),
    unknowns: list(
      map(
        {
          question: text('what is not known'),
          why: text('what depends on the answer'),
          answeredBy: { type: 'string', enum: ['person', 'research'], description: 'who can answer it' },
          otherwise: text('a safe assumption if nobody answers; empty when a wrong guess would waste the work'),
        },
        ['question', 'why', 'answeredBy'],
      ),
      'only what changes the plan',
    ),
  },
  ['objective', 'done', 'unknowns'],
)

export const KINDS = [
  'research',
  'design',
  'implement',
  'test',
  'document',
  'validate',
  'chore',
  'push',
  'deploy',
  'delete',
  'migrate',
  'spend',
] as const

export interface DraftTask {
  readonly id: string
  readonly title: string
  readonly why: string
  readonly kind: (typeof KINDS)[number]
  /** `work`: done by an agent or a person. */
  readonly how: 'work' | 'command' | 'approval'
  readonly needs?: readonly string[]
  readonly instruction?: string
  readonly command?: readonly string[]
  readonly write?: readonly string[]
  readonly new?: readonly string[]
  readonly reads?: readonly string[]
  readonly reports?: readonly string[]
  readonly accept?: readonly Check[]
  readonly risks?: readonly string[]
  readonly undo?: Check
  readonly minutes?: number
}

export interface Draft {
  readonly title: string
  readonly rationale: string
  readonly tasks: readonly DraftTask[]
  readonly done: readonly Check[]
  readonly assumptions?: readonly string[]
  readonly risks?: readonly string[]
  readonly unfollowed?: readonly { readonly comment: number; readonly why: string }[]
}

const TASK = map(
  {
    id: text('short, lower case, words joined by -'),
    title: text('what is done, in a few words'),
    why: text('why this step is there'),
    kind: { type: 'string', enum: [...KINDS], description: 'what it is for' },
    how: {
      type: 'string',
      enum: ['work', 'command', 'approval'],
      description:
        'work: an agent or a person does it; command: a program is run; approval: a person agrees before what comes next',
    },
    needs: texts('ids of the tasks that must be done before; no circles'),
    instruction: text('for work: all that whoever does it must know'),
    command: texts('for command: program and arguments; no shell'),
    write: texts('the files it may write, as paths or patterns such as src/**'),
    new: texts('files, and names of functions, options or scripts, that this task adds and that are not there yet'),
    reads: texts('files that the instruction names and that are only read'),
    reports: texts('for work: names of what is reported at the end'),
    accept: list(CHECK, 'how one sees that this task is done'),
    risks: texts('what may go wrong'),
    undo: { ...CHECK, description: 'how what it did outside of files is taken back' },
    minutes: { type: 'number', description: 'how long it takes' },
  },
  ['id', 'title', 'why', 'kind', 'how'],
)

export const DRAFT: JsonObject = map(
  {
    title: text('the plan in a few words'),
    rationale: text('why this plan and not another'),
    tasks: list(TASK, 'the steps'),
    done: list(CHECK, 'how one sees that the whole plan is done'),
    assumptions: texts('what is taken for granted'),
    risks: texts('what may go wrong with the plan as a whole'),
    unfollowed: list(
      map({ comment: { type: 'integer' }, why: { type: 'string' } }, ['comment', 'why']),
      'comments that are not followed, by their number, and why',
    ),
  },
  ['title', 'rationale', 'tasks', 'done'],
)

export interface Critique {
  readonly problems: readonly {
    readonly task?: string
    readonly problem: string
    readonly severity: 'must-change' | 'risk'
  }[]
}

export const CRITIQUE: JsonObject = map(
  {
    problems: list(
      map(
        {
          task: text('the id of the task; empty for the whole plan'),
          problem: text('what is wrong or missing'),
          severity: {
            type: 'string',
            enum: ['must-change', 'risk'],
            description: 'must-change: the plan does not reach the goal as it is; risk: worth knowing',
          },
        },
        ['problem', 'severity'],
      ),
      'empty when there are none',
    ),
  },
  ['problems'],
)

/** The wishes in a goal, before they are planned. */
export interface Parts {
  readonly wishes: readonly { readonly title: string; readonly why: string; readonly criteria?: readonly string[] }[]
}

export const PARTS: JsonObject = map(
  {
    wishes: list(
      map(
        {
          title: text('what is wanted, in one sentence that can be understood without the others'),
          why: text('why it can be reached on its own'),
          criteria: texts('what must hold for it: what the goal says about it, and the limits that hold for all'),
        },
        ['title', 'why'],
      ),
      'one when the goal is one piece of work',
    ),
  },
  ['wishes'],
)
