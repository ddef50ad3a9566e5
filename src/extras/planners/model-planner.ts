// The planner that asks a model: it understands the goal, asks the person what it must know, drafts, validates and repairs the
// draft, and criticises it once. The result is a proposal; the model decides nothing.

import type { JsonObject } from '../../domain/json.ts'
import { type ModelCost, tokensOf } from '../../domain/model-use.ts'
import { numberOf } from '../../domain/phrases.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { isAboutChecks, suitesOf } from './draft/plan-frame.ts'
import { redToday } from './draft/today.ts'
import { shellLine } from './end-checks.ts'
import { heuristicPlanner } from './heuristic-planner.ts'
import {
  CRITIQUE,
  type Critique,
  DRAFT,
  type Draft,
  INTAKE,
  type Intake,
  PARTS,
  type Parts,
  type Unknown,
} from './model/answer-schemas.ts'
import { draftFaults } from './model/draft-faults.ts'
import { type DraftedPlan, draftedPlan } from './model/draft-plan.ts'
import type { Ground } from './model/irreversible.ts'
import {
  type Answer,
  asText,
  briefing,
  critiqueQuestion,
  draftQuestion,
  earlierDraft,
  INTAKE_QUESTION,
  progressText,
  READING,
  redraftQuestion,
  SPLIT_QUESTION,
  SYSTEM,
  seenText,
  untrusted,
} from './model/planning-words.ts'
import { type Reading, readingTools } from './model/reading-tools.ts'
import { type SelfChecked, selfCheck } from './model/self-check.ts'
import {
  type CheckedToday,
  DRAFTS_MAX,
  failingToday,
  lookedLine,
  type ModelQuestion,
  type Planner,
  PlanningFailure,
  type PlanningModel,
  type PlanningModels,
  type PlanProposal,
  type PlanRequest,
  type RunCheck,
  type SplitRequest,
  WISHES_MAX,
  type Wish,
} from './planner.ts'

/** Maximum number of requests per drafting, repairs included. */
const CALLS_MAX = 12
/** Additional requests per further draft: one answer and its repairs. */
const DRAFT_CALLS = 4
const SPLIT_CALLS_MAX = 3
const TITLE_MAX = 200
const REPAIRS_MAX = 3
const INTAKE_REPAIRS_MAX = 2
const QUESTIONS_MAX = 6
/** Larger recordings are dropped, so that the plan remains a readable document. */
const RECORDING_MAX = 2_000_000

/** Analyses goal and repository before a model is asked. */
export type FirstLook = (request: Pick<PlanRequest, 'goal' | 'repository' | 'looked'>) => Promise<PlanProposal>

export function modelPlanner(models: PlanningModels, look: FirstLook = heuristicPlanner().propose): Planner {
  return {
    name: 'model',
    propose: request => propose({ models, look }, request),
    split: request => split({ models, look }, request),
  }
}

interface Rooms {
  readonly models: PlanningModels
  readonly look: FirstLook
}

async function propose(rooms: Rooms, request: PlanRequest): Promise<PlanProposal> {
  const drafts = Math.min(request.drafts ?? 1, DRAFTS_MAX)
  const drafting = await begin(rooms, request, CALLS_MAX + (drafts - 1) * DRAFT_CALLS)
  const [first, among] = await keepingPaid(drafting, async () => {
    const intake = await takeIn(drafting)
    const { answers, open } = await askPerson(request, intake.unknowns)
    return await bestOf(drafting, { intake, answers, open }, drafts)
  })
  const { drafted, notes } = await criticised(drafting, first)
  const proposal = proposalOf(drafting, drafted, notes, among)
  drafting.model.forget()
  return proposal
}

type Message = ModelQuestion['messages'][number]

interface Drafting {
  readonly model: PlanningModel
  /** Hard limit, even if a person allows more. */
  readonly callsMax: number
  readonly request: PlanRequest
  readonly goal: string
  readonly repository: PlanRequest['repository']
  /** Caches results, so that a replay has the same ones. */
  readonly runCheck: RunCheck
  /** Commands that, as checks, only require that nothing gets worse. */
  readonly guards: readonly string[]
  readonly results: Map<string, CheckedToday>
  /** The result of the heuristic planner. */
  readonly known: PlanProposal
  readonly ground: Ground
  readonly briefing: string
  /** Null if the provider does not support tools. */
  readonly reading: Reading | null
}

async function begin({ models, look }: Rooms, request: PlanRequest, calls: number): Promise<Drafting> {
  const { goal, repository, model: use, budget, more, looked } = request
  const opened = await models.open({
    use,
    allowed: budget,
    more,
    caps: { calls },
    keepAs: `draft ${calls} ${goal}`,
  })
  if (!opened.ok) throw new PlanningFailure(opened.failure)
  const { model } = opened
  request.tell?.(`asking ${model.name} for a plan …`)
  if (model.earlier > 0)
    request.tell?.(
      `${numberOf(model.earlier, 'answer')} from an earlier, interrupted drafting of this goal ${model.earlier === 1 ? 'is' : 'are'} not paid for again`,
    )
  const known = await look({ goal, repository, looked })
  const { analysis, kind, definition: usual } = known
  const paths = new Set((await repository.files()).map(({ path }) => path))
  const kept = new Set(request.progress?.kept.map(({ task }) => task))
  const ground = { goal, commands: analysis.commands, paths, kept }
  const results = new Map<string, CheckedToday>()
  for (const one of looked?.commands ?? [])
    if (one.in === undefined && one.env === undefined) results.set(lookedLine(one), one.status)
  return {
    ...{ model, callsMax: calls, request, goal, repository, results },
    runCheck: remembering(request, results),
    guards: isAboutChecks(known) ? [] : suitesOf(known).map(({ line }) => line),
    known,
    ground,
    reading: model.callsTools ? readingTools(repository, untrusted) : null,
    briefing: await briefing({
      goal,
      kind,
      analysis,
      usual,
      repository,
      framing: known.framing,
      learnt: request.learnt,
    }),
  }
}

/** Reuses the results of commands that were already run. */
function remembering({ runCheck, looked }: PlanRequest, results: Map<string, CheckedToday>): RunCheck {
  return async script => {
    const result = results.get(script) ?? (await runCheck?.(script)) ?? 'unknown'
    if (runCheck !== undefined || looked !== undefined) results.set(script, result)
    return result
  }
}

async function ask<T>(
  { model, request: { signal, tell } }: Drafting,
  question: Omit<ModelQuestion, 'system' | 'signal' | 'onWait'>,
): Promise<{ readonly value: T; readonly repairs: number }> {
  const asked = { ...question, system: SYSTEM, ...(tell === undefined ? {} : { onWait: tell }) }
  const reply = await model.object({ ...asked, ...(signal === undefined ? {} : { signal }) })
  if (!reply.ok) throw new PlanningFailure(reply.failure)
  return { value: reply.value as T, repairs: reply.repairs }
}

/** After most failures the answers stay stored for the next drafting of this goal, so that nothing paid for is lost. */
async function keepingPaid<T>({ model, callsMax }: Drafting, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { calls, usage, cost } = model.spent()
    // They are dropped after a bug of ours, at the hard limit, and if they would make the next drafting fail as well.
    const isPlanned = error instanceof PlanningFailure
    if (!isPlanned || BAD_ANSWERS.has(error.failure.code ?? '') || calls >= callsMax) model.forget()
    if (!isPlanned || error.failure.code !== 'model:cap' || calls >= callsMax) throw error
    const { failure } = error
    const spent = `${priceText(cost)} and ${tokensOf(usage)} tokens in ${calls} ${calls === 1 ? 'call' : 'calls'}`
    const message = `${failure.message}. Spent so far: ${spent}. The answers are kept: drafting the same goal again reuses them and does not pay for them again`
    throw new PlanningFailure({ ...failure, message })
  }
}

const BAD_ANSWERS: ReadonlySet<string> = new Set(['model:malformed', 'model:refused', 'model:truncated'])

async function split(rooms: Rooms, request: SplitRequest): Promise<readonly Wish[]> {
  const drafting = await begin(rooms, request, SPLIT_CALLS_MAX)
  const { value } = await keepingPaid(drafting, () =>
    ask<Parts>(drafting, {
      purpose: 'draft: split',
      messages: [{ role: 'user', text: `${drafting.briefing}\n\n${SPLIT_QUESTION}` }],
      schema: PARTS,
      schemaName: 'wishes',
      repairsMax: SPLIT_CALLS_MAX - 1,
      check: value => partFaults(value as unknown as Parts),
    }),
  )
  drafting.model.forget()
  return value.wishes.map(({ title, criteria = [] }) => ({ title: title.trim(), criteria }))
}

function partFaults({ wishes }: Parts): readonly string[] {
  if (wishes.length === 0 || wishes.length > WISHES_MAX)
    return [`wishes has ${wishes.length} items; it must have 1 to ${WISHES_MAX}`]
  const titles = wishes.map(({ title }) => title.trim())
  const isTwice = new Set(titles).size < titles.length
  return [
    ...(titles.some(title => title === '' || title.length > TITLE_MAX || title.includes('\n'))
      ? [`each title is one line of 1 to ${TITLE_MAX} characters`]
      : []),
    ...(isTwice ? ['two wishes have the same title'] : []),
  ]
}

async function takeIn(drafting: Drafting): Promise<Intake> {
  const { reading } = drafting
  const { value } = await ask<Intake>(drafting, {
    purpose: 'draft: intake',
    messages: [
      { role: 'user', text: [drafting.briefing, INTAKE_QUESTION, ...(reading === null ? [] : [READING])].join('\n\n') },
    ],
    ...(reading === null ? {} : { tools: reading.tools }),
    schema: INTAKE,
    schemaName: 'intake',
    repairsMax: INTAKE_REPAIRS_MAX,
    check: value => ((value as unknown as Intake).objective.trim() === '' ? ['objective is empty'] : []),
  })
  return value
}

/** Asks only what must not be assumed. Without an answer, the plan asks. */
async function askPerson(
  { ask: answer }: PlanRequest,
  unknowns: readonly Unknown[],
): Promise<{ readonly answers: readonly Answer[]; readonly open: readonly string[] }> {
  const answers: Answer[] = []
  const open: string[] = []
  for (const { question, answeredBy, otherwise = '' } of unknowns) {
    if (answeredBy !== 'person' || otherwise.trim() !== '' || answers.length + open.length >= QUESTIONS_MAX) continue
    const response = ((await answer?.(question)) ?? '').trim()
    if (response === '') open.push(question)
    else answers.push({ question, answer: response })
  }
  return { answers, open }
}

interface TakenIn {
  readonly intake: Intake
  readonly answers: readonly Answer[]
  readonly open: readonly string[]
}

interface Drafted extends TakenIn {
  readonly draft: Draft
  readonly plan: DraftedPlan
  readonly repairs: number
  /** The conversation up to and including its last answer. */
  readonly messages: readonly Message[]
  readonly checked: SelfChecked
}

/** The first draft with the fewest faults, and why it was chosen. A failed draft does not affect the others. */
async function bestOf(
  drafting: Drafting,
  taken: TakenIn,
  drafts: number,
): Promise<readonly [best: Drafted, among: readonly string[]]> {
  const all: Drafted[] = []
  let ended: readonly string[] = []
  for (let at = 0; at < drafts; at++) {
    try {
      all.push(await draftPlan(drafting, taken))
    } catch (error) {
      const why = all.length === 0 && at === drafts - 1 ? null : reasonOf(error)
      if (why === null) throw error
      ended = [...ended, `draft ${at + 1} failed: ${why}`]
    }
  }
  const counts = all.map(({ checked }) => checked.faults.length)
  const best = all[counts.indexOf(Math.min(...counts))]!
  const repairs = all.reduce((sum, one) => sum + one.repairs, 0)
  const numbers = counts.join(', ')
  const summary = `${numberOf(all.length, 'draft')} ${all.length === 1 ? 'was' : 'were'} made, with ${numbers} faults against the repository; this is number ${all.indexOf(best) + 1}, the first with the fewest`
  return [{ ...best, repairs }, drafts === 1 ? [] : [summary, ...ended]]
}

async function draftPlan(drafting: Drafting, taken: TakenIn): Promise<Drafted> {
  const { comments = [], draft: earlier, progress } = drafting.request
  const { intake, answers } = taken
  const asked = [
    ...(progress === undefined ? [] : [progressText(progress), '']),
    draftQuestion(intake, answers, comments),
  ].join('\n')
  return await draftFrom(drafting, taken, [
    { role: 'user', text: `${drafting.briefing}${seenText(drafting.reading?.seen ?? [])}\n\n${INTAKE_QUESTION}` },
    { role: 'assistant', text: asText(intake) },
    { role: 'user', text: earlier === undefined ? asked : `${earlierDraft(earlier)}\n\n${asked}` },
  ])
}

/** At most three rounds of repairs. A usable draft is kept if repairs do not improve it. */
async function draftFrom(drafting: Drafting, taken: TakenIn, question: readonly Message[]): Promise<Drafted> {
  let messages = question
  let best: Drafted | null = null
  for (let repairs = 0; ; ) {
    let answer: { readonly value: Draft; readonly repairs: number }
    try {
      answer = await ask<Draft>(drafting, {
        purpose: 'draft: plan',
        messages,
        schema: DRAFT,
        schemaName: 'plan',
        repairsMax: REPAIRS_MAX - repairs,
        check: value => faultsIn(drafting, taken, value as unknown as Draft),
      })
    } catch (error) {
      if (best === null) throw error
      reasonOf(error)
      return best
    }
    repairs += answer.repairs
    const draft = answer.value
    const checked = await selfCheck(draft, { ...drafting, looked: drafting.request.looked })
    const { faults } = checked
    const plan = planOf(drafting, { ...taken, checked }, draft)
    const lastAnswer: Message = { role: 'assistant', text: asText(draft) }
    const next = { ...taken, draft, plan, repairs, messages: [...question, lastAnswer], checked }
    // A model that repeats the fault is not asked again; the person sees the fault.
    const isBetter = best === null || faults.length < best.checked.faults.length
    if (faults.length === 0 || repairs >= REPAIRS_MAX || !isBetter) return isBetter ? next : { ...best!, repairs }
    best = next
    repairs++
    const text = [
      'Compared with the repository, something is wrong with your answer:',
      ...faults.map(fault => `- ${fault}`),
      'Answer again, with the whole JSON.',
    ]
    messages = [...question, lastAnswer, { role: 'user', text: text.join('\n') }]
  }
}

function faultsIn(drafting: Drafting, taken: TakenIn, draft: Draft): readonly string[] {
  const faults = draftFaults(draft, taken.intake, drafting.ground)
  if (faults.length > 0) return faults
  return (
    drafting.request.check?.(planOf(drafting, { ...taken, checked: { faults: [], today: [] } }, draft).definition) ?? []
  )
}

function planOf(
  { request, known, ground }: Drafting,
  { open, checked }: Pick<Drafted, 'open' | 'checked'>,
  draft: Draft,
  context: JsonObject = {},
): DraftedPlan {
  const { today } = checked
  return draftedPlan({ goal: request.goal, known, draft, today, questions: open, ground, context })
}

/** Redrafts once according to the critique. If that fails, the draft stays and the problems are reported. */
async function criticised(
  drafting: Drafting,
  first: Drafted,
): Promise<{ readonly drafted: Drafted; readonly notes: readonly string[] }> {
  let problems: Critique['problems']
  const question = critiqueQuestion(first.draft, first.intake, first.answers, first.checked)
  try {
    const asked = await ask<Critique>(drafting, {
      purpose: 'draft: critique',
      messages: [
        { role: 'user', text: `${drafting.briefing}${seenText(drafting.reading?.seen ?? [])}\n\n${question}` },
      ],
      schema: CRITIQUE,
      schemaName: 'critique',
      repairsMax: 1,
    })
    problems = asked.value.problems
  } catch (error) {
    return { drafted: first, notes: [`nobody criticised the draft: ${reasonOf(error)}`] }
  }
  const texts = problems.map(({ task = '', problem }) => (task === '' ? problem : `${task}: ${problem}`))
  const serious = texts.filter((_, at) => problems[at]!.severity === 'must-change')
  const risks = texts.filter((_, at) => problems[at]!.severity === 'risk')
  if (serious.length === 0) return { drafted: first, notes: risks }
  try {
    const again: Message = { role: 'user', text: redraftQuestion(serious) }
    const second = await draftFrom(drafting, first, [...first.messages, again])
    return { drafted: { ...second, repairs: first.repairs + second.repairs }, notes: risks }
  } catch (error) {
    return { drafted: first, notes: [...serious, ...risks, `the draft was not changed for these: ${reasonOf(error)}`] }
  }
}

/** An abort stops all drafts. */
function reasonOf(error: unknown): string {
  if (!(error instanceof PlanningFailure) || error.failure.code === 'model:cancelled') throw error
  return error.message
}

const assumed = (unknowns: readonly Unknown[]): readonly string[] =>
  unknowns.flatMap(({ question, answeredBy, otherwise = '' }) =>
    answeredBy === 'person' && otherwise.trim() !== '' ? [`${question} ${otherwise}`] : [],
  )

/** Reported once instead of per check. */
const unrun = ({ today }: SelfChecked): readonly string[] =>
  today.length > 0 && today.every(({ result }) => result === 'unknown')
    ? ['whether the checks of the tasks fail today is not known: they were not run']
    : []

async function proposalOf(
  drafting: Drafting,
  drafted: Drafted,
  notes: readonly string[],
  among: readonly string[],
): Promise<PlanProposal> {
  const { model, request, known } = drafting
  const { draft, intake, answers, open, repairs, checked } = drafted
  const { comments = [], repository } = request
  const { analysis, kind } = known
  const rationale = [draft.rationale, ...among.map(one => `${one}.`)].join(' ')
  const wanted = draft.done.map(({ command = [] }) => shellLine(command))
  const causes = isAboutChecks(known)
    ? failingToday(analysis.looked).filter(one => wanted.includes(lookedLine(one)))
    : []
  const red = redToday(analysis.looked, causes)
  const assumptions = [...assumed(intake.unknowns), ...(draft.assumptions ?? []), ...unrun(checked), ...red]
  const risks = [...(draft.risks ?? []), ...notes, ...drafted.checked.faults]
  const used = { name: model.name, ...model.spent(), repairs }
  const recording = JSON.stringify(model.recording())
  const isKept = recording.length <= RECORDING_MAX
  const context = {
    planner: 'model',
    kind,
    rationale,
    objective: intake.objective,
    scope: { in: intake.inScope ?? [], out: intake.outOfScope ?? [] },
    constraints: intake.constraints ?? [],
    unknowns: intake.unknowns,
    answers,
    assumptions,
    questions: open,
    risks,
    files: analysis.files.slice(0, 10),
    commands: analysis.commands,
    ...(analysis.looked === undefined ? {} : { looked: analysis.looked }),
    ...(drafting.results.size === 0 ? {} : { checks: Object.fromEntries(drafting.results) }),
    repository: await repository.state(),
    comments,
    ...(request.drafts === undefined ? {} : { drafts: request.drafts }),
    model: used,
    // A single line keeps the document readable.
    recording: isKept ? recording : null,
  }
  const { definition, irreversible } = planOf(
    drafting,
    drafted,
    draft,
    JSON.parse(JSON.stringify(context)) as JsonObject,
  )
  return {
    planner: 'model',
    definition,
    kind,
    rationale,
    assumptions,
    risks,
    questions: open,
    irreversible,
    estimate: { workMs: workOf(definition), cost: costText(used) },
    analysis: isKept ? analysis : { ...analysis, limits: [...analysis.limits, NOT_KEPT] },
    unfollowed: (draft.unfollowed ?? []).flatMap(({ comment: number, why }) => {
      const comment = comments[number - 1]
      return comment === undefined ? [] : [{ comment, why }]
    }),
    model: used,
  }
}

const NOT_KEPT = 'the recording of this drafting is too large to be kept, so it cannot be replayed'

const workOf = ({ tasks }: PlanDefinition): number => tasks.reduce((sum, { estimateMs = 0 }) => sum + estimateMs, 0)

function costText({
  name,
  calls,
  usage,
  cost,
}: { readonly name: string } & ReturnType<PlanningModel['spent']>): string {
  return `${priceText(cost)} and ${tokensOf(usage)} tokens in ${calls} calls of ${name} for planning; the costs of agents are not included`
}

const priceText = (cost: ModelCost): string => (cost.known ? `${cost.usd} USD` : 'an unknown price')
