// The planner that asks the user's own coding agent. The agent reads the repository in a read-only sandbox and submits a plan
// with `plan_write`; its messages are ignored. The submitted plan is validated like any other.

import { defined, type JsonObject } from '../../domain/json.ts'
import { tokensOf } from '../../domain/model-use.ts'
import type { DraftWithAgent } from '../../operations/agents/coding-agents.ts'
import { FRAME_NAMES, framed } from './draft/plan-frame.ts'
import { heuristicPlanner } from './heuristic-planner.ts'
import { learntText, progressText } from './model/planning-words.ts'
import { lookedLines, type Planner, PlanningFailure, type PlanProposal, type PlanRequest } from './planner.ts'

export function agentPlanner(draft: DraftWithAgent): Planner {
  return {
    name: 'agent',
    propose: request => propose(draft, request),
    // Goals are split by their wording, without the agent.
    split: request => heuristicPlanner().split(request),
  }
}

async function propose(draft: DraftWithAgent, request: PlanRequest): Promise<PlanProposal> {
  const {
    agent,
    model,
    goal,
    repository,
    looked,
    comments = [],
    check,
    signal = new AbortController().signal,
  } = request
  if (agent === undefined)
    throw new PlanningFailure({
      class: 'logic',
      code: 'planner:agent',
      retryable: false,
      message: 'the planner needs the name of an agent',
      hint: 'name yours at the command line: `--with claude`; or draft with another planner',
    })
  const known = await heuristicPlanner().propose({ goal, repository, looked })
  const { files, tests } = known.analysis
  const lessons = (await request.learnt?.([...files, ...tests].map(({ path }) => path))) ?? []
  const instruction = [instructionFor(request, known), ...learntText(lessons)].join('\n')
  const { budget, more, tell, draft: earlier } = request
  const drafted = await draft({
    ...{ agent, instruction, signal },
    what: [goal, JSON.stringify(comments), JSON.stringify(earlier?.tasks ?? null)],
    ...defined({ model, budget, more, tell }),
  })
  if (!drafted.ok) throw new PlanningFailure(drafted.failure)
  const { used } = drafted
  const spent = used === null ? null : { name: used.model, calls: used.calls, usage: used.usage, cost: used.cost }
  const planning = { planner: 'agent', agent, model: spent === null ? null : { ...spent } }
  const extra = { ...drafted.definition.extra, planning: JSON.parse(JSON.stringify(planning)) as JsonObject }
  const definition = framed({ goal, ...drafted.definition, extra }, { known, questions: [] })
  const faults = check?.(definition) ?? []
  if (faults.length > 0)
    throw new PlanningFailure({
      class: 'logic',
      code: 'planner:draft',
      retryable: true,
      message: `the plan that ${agent} submitted cannot work: ${faults[0]}`,
      hint: 'run it again, or draft with another planner',
    })
  return {
    planner: 'agent',
    definition,
    kind: known.kind,
    rationale: `drafted by ${agent}, which read the repository`,
    assumptions: [],
    risks: [],
    questions: [],
    irreversible: [],
    estimate: {
      workMs: definition.tasks.reduce((sum, { estimateMs = 0 }) => sum + estimateMs, 0),
      cost:
        spent === null
          ? 'not known'
          : `${spent.cost.known ? `${spent.cost.usd} USD` : 'an unknown price'} and ${tokensOf(spent.usage)} tokens in ${spent.calls} calls of ${spent.name} for planning`,
    },
    analysis: known.analysis,
    unfollowed: [],
    ...(spent === null ? {} : { model: { ...spent, repairs: 0 } }),
  }
}

/** The agent's prompt. Quoted text stands under headings of ours. */
function instructionFor({ goal, comments = [], draft, progress }: PlanRequest, { analysis }: PlanProposal): string {
  const { files, commands } = analysis
  const found = [
    ...files.slice(0, 10).map(({ path, reason }) => `${path} (${reason})`),
    ...(['test', 'lint', 'types', 'build'] as const).flatMap(name => {
      const command = commands[name]
      return command === null ? [] : [`${name}: ${command.run.join(' ')}`]
    }),
    ...(analysis.looked === undefined ? [] : ['Run once today, on a copy:', ...lookedLines(analysis.looked)]),
  ]
  return [
    'Draft a plan for the goal below. Read what you need of this repository; you cannot write anything here.',
    `When you know enough, submit it once with the tool plan_write: {"action":"create","goal":"…","tasks":[…]}. Give each task an id, a title, an instruction that an agent can work by, \`needs\`, the files it may \`write\`, and \`accept\` with a check that can fail ({"check":["npm","test"]}). Around your tasks Planfold puts what has to be installed, a record of how the tests are today, a safe point, and at the end a review by a person: plan none of these. Do not start it. If it is refused, mend it and submit it again. Then end your turn.`,
    `## The goal\n${indented(goal)}`,
    ...(found.length === 0 ? [] : [`## What may be of use\n${indented(found.join('\n'))}`]),
    ...(comments.length === 0
      ? []
      : [
          `## What a person said about the draft before\n${indented(comments.map(({ task, text }) => `${task ?? 'all of it'}: ${text}`).join('\n'))}`,
        ]),
    ...(progress === undefined ? [] : [`## The plan is under way\n${indented(progressText(progress))}`]),
    ...(draft === undefined
      ? []
      : [
          `## That draft\n${indented(
            JSON.stringify(
              draft.tasks.filter(({ id }) => !FRAME_NAMES.includes(id)),
              null,
              1,
            ),
          )}`,
        ]),
  ].join('\n\n')
}

const indented = (text: string): string =>
  text
    .slice(0, 30_000)
    .split('\n')
    .map(line => `  ${line}`)
    .join('\n')
