// The answers of queries: part of the door of `engine/`. A new query is a row in format/wire/queries.ts (its keys), one in `Answers` here,
// and one in answer-query.ts (its right, and how it is answered).

import type { Artifact, Provenance } from '../domain/artifacts/artifact-list.ts'
import type { BudgetView } from '../domain/budget/budget-view.ts'
import type { Forecast } from '../domain/budget/forecast.ts'
import type { Reset } from '../domain/command.ts'
import type { Evaluation, EventOf, Question, Upload } from '../domain/event.ts'
import type { Shown } from '../domain/gates/consent.ts'
import type { Hint } from '../domain/hint.ts'
import type { Millis, PlanId, Sha256, TaskName } from '../domain/id.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import type { Lesson } from '../domain/memory/lesson.ts'
import type { PlanDefinition, TaskDefinition } from '../domain/plan.ts'
import type { PolicyLayer } from '../domain/policy/policy-layer.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { GitStanding, LostOutput, UsedProgram } from '../domain/result.ts'
import type { PlanState, SetBack } from '../domain/state/state.ts'
import type { PlanStatus } from '../domain/status.ts'
import type { Race } from '../domain/tries/race.ts'
import type { AuditLine } from '../domain/views/audit.ts'
import type { Briefing, Card, Removed } from '../domain/views/board.ts'
import type { Checkpoint } from '../domain/views/checkpoints.ts'
import type { Comparison } from '../domain/views/compare.ts'
import type { Contract, ContractLine } from '../domain/views/contract.ts'
import type { Convergence } from '../domain/views/convergence.ts'
import type { Digest } from '../domain/views/digest.ts'
import type { Handoff } from '../domain/views/handoff.ts'
import type { InboxItem, Review } from '../domain/views/inbox.ts'
import type { Became } from '../domain/views/inbox-history.ts'
import type { AgentStep } from '../domain/views/pages/agent-lines.ts'
import type { StoredText } from '../domain/views/pages/consent-text.ts'
import type { ShownState } from '../domain/views/pages/plan-state.ts'
import type { AttemptFacts, DecisionFacts, LessonFacts } from '../domain/views/pages/task-page.ts'
import type { Why } from '../domain/views/pages/why-lines.ts'
import type { ProposalCard } from '../domain/views/proposals.ts'
import type { Summary } from '../domain/views/summary.ts'
import type { WireQueries } from '../format/wire/declarations.ts'
import type { QueueStanding } from '../queues/queue.ts'
import type { JudgedText } from '../runners/runner.ts'
import type {
  AttemptRow,
  CaughtUp,
  ChainBroken,
  CheckReport,
  Entry,
  Found,
  Halt,
  Holder,
  MetricRow,
  MovedFiles,
  OverviewPage,
  OverviewQuery,
  Page,
  PlanOverview,
  PlanQuery,
  PlanRow,
  Position,
  Pruned,
  ScopeHolder,
  SearchHit,
  SearchQuery,
  StepsRow,
  StoredLog,
  TaskQuery,
  TaskRow,
} from '../stores/store.ts'
import type { CommitLine, FileStat, PrText, RollbackStep } from '../workspace/git/git.ts'
import type { Change, LeftOut, Preview, TreeEntry } from '../workspace/workspace.ts'

export type { Halt } from '../stores/store.ts'

export interface KeptFile {
  readonly path: string
  readonly at: Millis
  readonly by: 'retry' | 'rollback' | 'adopt' | 'restore' | 'task'
  readonly task: TaskName | null
  /** The replaced version; null if a person had deleted the file. */
  readonly kept: TreeEntry | null
  readonly instead: TreeEntry | null
}

export interface WorkersView {
  readonly workers: readonly WorkerRow[]
  /** Null where the store is in the folder of one machine. */
  readonly queue: QueueStanding | null
}

export interface WorkerRow {
  readonly id: string
  readonly host: string
  readonly pid: number
  readonly alive: boolean
  /** It finishes what runs, and begins nothing new. */
  readonly draining: boolean
  readonly labels: readonly string[]
  /** How many plans it drives at most; null for a process that only drives a named plan. */
  readonly concurrency: number | null
  readonly version: string | null
  /** Open plans that it drives now. */
  readonly plans: number
}

/** A question asked in the middle of work, by an agent or by Planfold; with its answer, if there is one. */
export type AskedQuestion = Question & {
  readonly since: Millis
  readonly answer: { readonly answers: JsonObject; readonly by: string; readonly at: Millis } | null
}

export type BudgetReport = BudgetView & { readonly forecast: Forecast }

export interface Inbox {
  readonly items: readonly InboxEntry[]
  /** Files restored before retries, until the backup is restored or expires; also those of ended plans. */
  readonly restored: readonly (SetBack & { readonly plan: PlanId; readonly name: string })[]
  /** Plans with a damaged journal: their open questions are unknown. */
  readonly unreadable: readonly { readonly plan: PlanId; readonly name: string; readonly why: string }[]
}

export interface InboxEntry extends InboxItem {
  readonly id: string
}

/** How a question was answered, or why it is gone. */
export type InboxFate = Became & { readonly id: string }

export interface OpenReview extends Omit<Review, 'items'> {
  readonly items: readonly InboxEntry[]
  /** Of exactly these questions: deciding about the review decides about all of them. */
  readonly hash: Sha256
}

export interface ChangedFile {
  readonly path: string
  readonly change: 'created' | 'changed' | 'deleted'
}

export interface PullRequest extends PrText {
  /** The branch of the plan, and the commit it started at; null if the plan has none. */
  readonly branch: string | null
  readonly from: string | null
  readonly commits: readonly CommitLine[]
  readonly files: readonly FileStat[]
  readonly lacks: string | null
}

export interface Halted extends Halt {
  readonly paused: readonly string[]
  readonly already: readonly string[]
  readonly left: readonly { readonly name: string; readonly why: string }[]
}

export interface AuditTrail extends Omit<Chain, 'at'> {
  readonly lines: readonly AuditLine[]
}

export interface Chain {
  readonly plan: PlanId
  readonly name: string
  /** The number of valid entries, and the hash of the last one; empty if there is none. */
  readonly entries: number
  readonly head: string
  readonly fault: ChainFault | null
  readonly at: { readonly [version: number]: Sha256 }
}

export interface ChainFault {
  readonly kind: ChainBroken['fault']
  readonly version: number
  readonly message: string
}

export interface HandedOn extends Handoff {
  readonly readme: string
  readonly postmortem: string
}

export interface PlanRecord extends Readonly<Pick<PlanState, 'definition' | 'dialect'>> {
  readonly summary: Summary
}

export interface Records {
  readonly name: string
  readonly version: number
  readonly tasks: readonly TaskRecord[]
}

export interface TaskRecord {
  readonly card: Card
  readonly definition: TaskDefinition
  readonly neededBy: readonly TaskName[]
}

export interface Replay {
  readonly plan: PlanId
  readonly name: string
  readonly ok: boolean
  /** How many entries were read, verified in the chain, and decided with the same result. */
  readonly entries: number
  /** Turns that the real loop asked for again, and the number of owners. */
  readonly reenacted: {
    readonly entries: number
    readonly owners: number
    readonly attempts: number
    readonly preparations: number
    readonly compensations: number
    readonly commits: number
    readonly rollbacks: number
    readonly proposals: number
  }
  /** Entries that were only decided again, and why. */
  readonly redecidedOnly: readonly { readonly why: string; readonly entries: number; readonly first: number }[]
  /** One hash over all decisions, in order; equal for replays with equal decisions. */
  readonly trace: Sha256
  /** The hash of the last valid entry; empty if there is none. */
  readonly head: string
  readonly fault: ReplayFault | null
  /** Programs that are not on this machine as they were recorded last. Its version is null if it was never asked for here. */
  readonly programs: readonly {
    readonly name: string
    readonly recorded: UsedProgram | null
    readonly now: UsedProgram | null
  }[]
}

export type ReplayFault = {
  readonly version: number
  /** Null if there is no such entry. */
  readonly position: Position | null
  readonly message: string
} & (
  | { readonly type: 'chain'; readonly kind: 'tampered' | 'missing' | 'unreadable' }
  /** Written by a newer version: not wrong, but it cannot be judged here. */
  | { readonly type: 'unknown' }
  /** `expected`: what the rules decide. `actual`: what the journal holds. Absent: nothing. */
  | ({ readonly type: 'diverged'; readonly by: 'decision' | 'loop' } & Difference)
)

export interface Difference {
  /** e.g. `$.events[2].attempt`. */
  readonly path: string
  /** Absent: there is nothing at this path. */
  readonly expected?: Json
  readonly actual?: Json
}

export interface Converging extends Convergence {
  readonly criteria: number
  /** Why nothing more may be spent; null while budget is left. */
  readonly spent: string | null
}

export interface Drift {
  readonly revision: number
  readonly since: { readonly at: Millis; readonly version: number }
  /** Null if it has not moved, or its earlier position is unknown. */
  readonly commit: {
    readonly from: Where
    readonly to: Where
    readonly by: 'plan' | 'somebody'
  } | null
  readonly files: readonly DriftedFile[]
  /** How files were compared: all of them, only what the plan wrote, or not at all. */
  readonly basis: 'whole' | 'written' | 'none'
  /** Why not all were compared; null if all were. */
  readonly lacks: string | null
  readonly unmet: readonly UnmetCriterion[]
  /** Declared outputs of completed tasks that are missing or changed. */
  readonly outputs: readonly LostOutput[]
}

export type Where = Pick<GitStanding, 'head' | 'branch'>

export interface DriftedFile {
  readonly path: string
  readonly what: 'created' | 'changed' | 'deleted'
  /** `plan`: unchanged since these tasks wrote it. */
  readonly by: 'plan' | 'somebody'
  /** The tasks that wrote it since, even if another wrote last. */
  readonly tasks: readonly TaskName[]
}

export interface UnmetCriterion {
  readonly task: TaskName
  readonly stage: 'precondition' | 'acceptance' | 'done'
  readonly criterion: string
  readonly evidence: string | null
}

export type AdoptionPreview =
  | {
      readonly ok: true
      readonly fork: { readonly plan: PlanId; readonly name: string }
      readonly into: { readonly plan: PlanId; readonly name: string }
      /** `under way`: ordered, but not finished. */
      readonly status: 'open' | 'under way' | 'adopted' | 'unchanged'
      /** What was read: the folder, the snapshot at the fork's end, or only its journal. */
      readonly seen: 'folder' | 'end' | 'journal'
      readonly changes: readonly Change[]
      readonly files: readonly FilePreview[]
      readonly left: readonly LeftOut[]
    }
  | { readonly ok: false; readonly refusal: Refusal }

export interface FilePreview extends Preview {
  /** It may be another's, and stays unless it is included; then this is done to it. */
  readonly unclaimed?: 'restore' | 'create' | 'delete' | 'chmod'
  /** Changed by the plan and never stored, so it stays. `path` may be the patterns of a whole scope. */
  readonly uncovered?: true
}

export type RollbackPreview =
  | {
      readonly ok: true
      readonly kind: 'rollback' | 'undo'
      /** For an undo: the fork whose adoption is undone; or that an undo is undone. */
      readonly adopted?: string
      readonly redoes?: true
      readonly label?: string
      /** The target entry, and its checkpoint. */
      readonly to: number
      readonly checkpoint: Checkpoint | null
      readonly files: readonly FilePreview[]
      readonly resets: readonly Reset[]
      readonly compensate: readonly TaskName[]
      /** Side effects outside the workspace, files that were not captured, and changes beside a write scope: these stay. */
      readonly stays: readonly { readonly task: TaskName; readonly why: string; readonly declared: boolean }[]
      /** Decisions of people since then about tasks that will run again: they are asked again. */
      readonly decisionsLost: readonly Pick<EventOf<'gate.decided'>, 'task' | 'verdict' | 'by'>[]
      readonly git: readonly RollbackStep[]
      /** A person's edits between two tasks, stored under their hash. */
      readonly kept: readonly { readonly path: string; readonly sha256: Sha256 }[]
    }
  | { readonly ok: false; readonly refusal: Refusal }

export interface TaskPage extends Omit<TaskRecord, 'card'> {
  readonly card: Card
  /** The tries of its last attempt with `tries`. */
  readonly race: Race | null
  readonly name: string
  readonly version: number
  readonly why: Hint
  readonly attempts: readonly AttemptFacts[]
  readonly decisions: readonly DecisionFacts[]
  readonly lessons: readonly LessonFacts[]
  readonly criteria: readonly ContractLine[]
  /** What would run; null if the task has ended, or this is not known. */
  readonly preview: string | null
  readonly log: readonly StoredLog[]
  readonly isLogCut: boolean
}

export type WhyAnswer = { readonly ok: true; readonly why: Why } | { readonly ok: false; readonly refusal: Refusal }

export interface ChangesShown {
  readonly visit: number
  readonly attempt: number
  readonly files: readonly FileShown[]
  readonly more: number
}

export interface FileShown extends ChangedFile {
  /** Sizes in bytes; null if there is no file. */
  readonly before: number | null
  readonly after: number | null
  /** Unified diff; null if there is none, with the reason. */
  readonly patch: readonly string[] | null
  readonly why: string | null
}

export interface Consent {
  /** The hash that an approval refers to. */
  readonly hash: Sha256
  readonly shown: Shown
  readonly patches: { readonly [path: string]: StoredText }
  readonly files: { readonly [sha256: string]: StoredText }
}

/** The state of a plan, without tokens of claims. */
export interface StateNow {
  readonly version: number
  /** The position of its last entry in the store: watch from here to miss nothing. */
  readonly position: Position
  /** As `packFold` makes it, without a definition. */
  readonly fold: JsonObject
  readonly definition: PlanDefinition
}

export interface Overview extends Omit<OverviewPage, 'items'> {
  readonly items: readonly (PlanOverview & {
    /** How many inbox items it has; null if its journal is damaged. */
    readonly waiting: number | null
    readonly seen: SeenState
  })[]
}

/** The state of a plan as shown to people, with its sign and colour. */
export type SeenState = Pick<ShownState, 'word' | 'sign' | 'waitsFor'>

/** The answer of each query; null if the subject does not exist. */
export interface Answers {
  find: Found | null
  /** The whole state, which a client can continue (`unpackFold`, then `evolve` with every later entry). */
  state: StateNow | null
  summary: (Summary & { readonly holder: Holder | null }) | null
  board: readonly Card[] | null
  task: Card | null
  /** What the next claimant must know, with resolved inputs. */
  briefing: Briefing | null
  /** The last state of a task that a revision removed; null if it exists or never did. */
  removed: Removed | null
  definition: {
    readonly definition: PlanDefinition
    readonly revision: number
    /** '' for an unsealed draft. */
    readonly hash: string
    /** The surrounding policy layers as recorded at the start; absent if there were none. */
    readonly policy?: readonly PolicyLayer[]
  } | null
  /** Tasks that can be worked on now, best first. */
  next: {
    readonly ready: readonly Card[]
    readonly claimable: number
    readonly explained: readonly { readonly task: TaskName; readonly why: Hint }[]
    /** Those that could start if other plans had not reserved their files. */
    readonly held: readonly ScopeWait[]
  } | null
  record: PlanRecord | { readonly unchanged: true } | null
  records: Records | null
  /** Evaluations of a task's work, oldest first. */
  evaluations: readonly Evaluation[] | null
  plans: Page<PlanRow>
  /** Plans with the number of their inbox items. */
  overview: Overview
  tasks: Page<TaskRow>
  attempts: Page<AttemptRow>
  metrics: readonly MetricRow[] | null
  /** Aggregated metrics of ended attempts. */
  steps: CaughtUp<StepsRow> | null
  /** Full-text search over plans, tasks and output. */
  search: CaughtUp<SearchHit>
  entries: readonly Entry[] | null
  logs: readonly StoredLog[] | null
  linesBefore: number | null
  /** Everything a page shows of a task, without contents of files. */
  taskPage: TaskPage | null
  /** What its agent did in all attempts, with the words and thoughts before; empty if it has none. At most 200. */
  agentSteps: readonly AgentStep[] | null
  /** What an attempt changed in files, line by line. */
  taskChanges: ChangesShown | null
  /** Which task, person or commit stands behind the lines of a file. Null: there is no such plan. */
  why: WhyAnswer | null
  /** The stored question of a gate, with all its texts. Null if it asks for no approval. */
  consent: Consent | null
  /** What a reviewer or critic is shown of the work that it judges; null for other tasks, and when it has ended. */
  judgedWork: readonly JudgedText[] | null
  /** The diff or command a task would carry out, without doing it. */
  preview: { readonly text: string } | null
  /** Verifies every entry, decides it again, and re-enacts turns. Writes nothing and runs nothing. */
  replay: Replay | null
  checkpoints: readonly Checkpoint[] | null
  /** One checkpoint, with the plan's state there. */
  checkpoint: CheckpointFound | null
  /** Paths that differ between two checkpoints, or between one and now. */
  checkpointDiff: CheckpointDiff | null
  /** Files changed by the plan, by path. */
  changedFiles: readonly ChangedFile[] | null
  /** What the tasks of the plan left, in the order in which it appeared. */
  artifacts: { readonly items: readonly ListedArtifact[]; readonly total: number } | null
  artifactOf: ArtifactFound | null
  /** The bytes of an artifact of the plan; null if no task left it, its time is over, or its task is confidential. */
  artifact: Uint8Array | null
  /** The same for any task. */
  confidentialArtifact: Uint8Array | null
  /** What the claimant of a task has uploaded in this attempt, and how far. */
  uploads: readonly Upload[] | null
  blob: Uint8Array | null
  rollbackPreview: RollbackPreview | null
  /** The same rollback line by line: from each file as the plan left it to the file as it would be; null if it is refused. */
  rollbackDiffs: Pick<ChangesShown, 'files' | 'more'> | null
  /** Backups of replaced files that can be restored, oldest first. */
  keptFiles: readonly KeptFile[] | null
  adoption: AdoptionPreview | null
  compare: Comparison | null
  pullRequest: PullRequest | null
  /** Who asked, decided, ran and wrote what, as far as the hash chain proves it. */
  audit: AuditTrail | null
  /** The verified hash chain of a journal; with the hashes of single entries. */
  chain: Chain | null
  /** The handoff as facts and as Markdown. The same journal gives the same text. */
  handoff: HandedOn | null
  digest: Digest | null
  /** Spent, reserved and left, and a forecast of the rest. */
  budget: BudgetReport | null
  /** Every proposed revision with its outcome, oldest first. */
  proposals: readonly ProposalCard[] | null
  /** The progress of `converge`. */
  converging: Converging | null
  /** What has changed since the definition took effect, and by whom. */
  drift: Drift | null
  /** Every criterion with its last verdict. */
  contract: Contract | null
  /** Everything in all plans that waits for a person, oldest first, each with the answers that the caller may give. */
  inbox: Inbox
  /** What was said about work that has ended since, and whether it still holds; newest first. */
  lessons: readonly Lesson[]
  workers: WorkersView
  /** Questions asked in the middle of work: the open ones, or the requested one with its answer. */
  questions: readonly AskedQuestion[] | null
  /** Approvals that are reviewed together, oldest first. */
  reviews: readonly OpenReview[] | null
  /** The outcome of an inbox item; null for an unknown id. */
  inboxFate: InboxFate | null
  /** The end of the store's journal: watch from here for what happens next. */
  position: Position
  check: CheckReport
  /** `agentHomes`: of how many ended plans the homes of agents were removed. */
  prune: Pruned & { readonly moved: MovedFiles; readonly agentHomes: number }
}

/** Options of queries in this process that cannot be sent over HTTP. */
interface InProcess {
  plans: PlanQuery
  overview: Omit<OverviewQuery, 'among'>
  tasks: TaskQuery
  search: SearchQuery
}

type Asks = {
  readonly [T in keyof WireQueries]: Omit<WireQueries[T], 'type'> & (T extends keyof InProcess ? InProcess[T] : unknown)
}

/** Every query: its keys from format/wire/queries.ts, and its answer. */
export type Queries = { readonly [T in keyof Answers]: { readonly ask: Asks[T]; readonly answer: Answers[T] } }

export interface ListedArtifact extends Artifact {
  readonly address: string
  /** Its time is over: the content is removed, or will be. */
  readonly expired: boolean
}

export interface ArtifactFound extends ListedArtifact {
  readonly provenance: Provenance
  /** `missing`: it should be there, and is not. */
  readonly content: 'kept' | 'expired' | 'missing'
}

export interface CheckpointCard extends Omit<Checkpoint, 'why'> {
  /** `entry`: an entry without a checkpoint. */
  readonly why: Checkpoint['why'] | 'entry'
  readonly status: PlanStatus
  readonly revision: number
  readonly completed: readonly TaskName[]
  readonly outputs: { readonly [task: string]: JsonObject }
  readonly decisions: readonly { readonly task: TaskName; readonly verdict: string; readonly rationale: string }[]
  readonly evidence: readonly { readonly task: TaskName; readonly criterion: string; readonly holds: boolean | null }[]
}

export type CheckpointFound =
  | { readonly ok: true; readonly card: CheckpointCard }
  | { readonly ok: false; readonly refusal: Refusal }

export type CheckpointDiff =
  | {
      readonly ok: true
      /** `whole`: all files of both were stored. `written`: only what the plan wrote in between is known. */
      readonly basis: 'whole' | 'written'
      readonly changes: readonly Change[]
      readonly left: readonly LeftOut[]
    }
  | { readonly ok: false; readonly refusal: Refusal }

export type QueryType = keyof Queries

export type QueryOf<T extends QueryType> = { readonly type: T } & Queries[T]['ask']

export type AnswerOf<T extends QueryType> = Answers[T]

/** A task that could start if other plans had not reserved its files. */
export interface ScopeWait {
  readonly task: TaskName
  readonly visit: number
  /** Where it works, relative to the state folder, and what it would write there. */
  readonly root: string
  readonly paths: readonly string[]
  /** Without plans outside the caller's scope. */
  readonly by: readonly ScopeBlocker[]
}

export interface ScopeBlocker extends ScopeHolder {
  /** A living process drives that plan. */
  readonly driven: boolean
  /** Orders that would end the wait if no process drives that plan. */
  readonly orders: readonly ('resume' | 'cancel')[]
}
