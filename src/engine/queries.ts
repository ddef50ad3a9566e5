// What queries are answered with: part of the door of `engine/`. A new one is a row in format/wire/queries.ts (its keys), one in
// `Answers` here, and one in answer-query.ts (the right it needs, and how it is answered).

import type { BudgetView } from '../domain/budget/budget-view.ts'
import type { Forecast } from '../domain/budget/forecast.ts'
import type { Reset } from '../domain/command.ts'
import type { Evaluation, EventOf, Question } from '../domain/event.ts'
import type { Shown } from '../domain/gates/consent.ts'
import type { Hint } from '../domain/hint.ts'
import type { Millis, PlanId, Sha256, TaskName } from '../domain/id.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import type { PlanDefinition, TaskDefinition } from '../domain/plan.ts'
import type { PolicyLayer } from '../domain/policy/policy-layer.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { GitStanding, LostOutput } from '../domain/result.ts'
import type { PlanState, SetBack } from '../domain/state/state.ts'
import type { PlanStatus } from '../domain/status.ts'
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
import type { StoredText } from '../domain/views/pages/consent-text.ts'
import type { ShownState } from '../domain/views/pages/plan-state.ts'
import type { AttemptFacts, DecisionFacts } from '../domain/views/pages/task-page.ts'
import type { ProposalCard } from '../domain/views/proposals.ts'
import type { Summary } from '../domain/views/summary.ts'
import type { WireQueries } from '../format/wire/declarations.ts'
import type {
  AttemptRow,
  CaughtUp,
  ChainBroken,
  CheckReport,
  Entry,
  Found,
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

/** One version of one path. */
export interface KeptFile {
  readonly path: string
  readonly at: Millis
  readonly by: 'retry' | 'rollback' | 'adopt' | 'restore' | 'task'
  readonly task: TaskName | null
  /** What stood there; null when there was nothing, because somebody had removed it. */
  readonly kept: TreeEntry | null
  /** What was put there instead. */
  readonly instead: TreeEntry | null
}

/** Asked in the middle of somebody's work; with the answer, when there is one. */
export type AskedQuestion = Question & {
  readonly since: Millis
  readonly answer: { readonly answers: JsonObject; readonly by: string; readonly at: Millis } | null
}

/** The accounts of a plan, and what the rest will probably use. */
export type BudgetReport = BudgetView & { readonly forecast: Forecast }

export interface Inbox {
  readonly items: readonly InboxEntry[]
  /** Files set back before retries, until they are restored or their time is over; also those of ended plans. */
  readonly restored: readonly (SetBack & { readonly plan: PlanId; readonly name: string })[]
  /** Plans whose journal is damaged: what waits there is not known. */
  readonly unreadable: readonly { readonly plan: PlanId; readonly name: string; readonly why: string }[]
}

export interface InboxEntry extends InboxItem {
  readonly id: string
}

/** How a question that waits no longer was answered, or why it is gone. */
export type InboxFate = Became & { readonly id: string }

export interface OpenReview extends Omit<Review, 'items'> {
  readonly items: readonly InboxEntry[]
  /** Of exactly these questions; whoever decides about the review decides about this. */
  readonly hash: Sha256
}

export interface ChangedFile {
  readonly path: string
  readonly change: 'created' | 'changed' | 'deleted'
}

export interface PullRequest extends PrText {
  /** The branch of the plan, and the commit it was made at; null when the plan has made none. */
  readonly branch: string | null
  readonly from: string | null
  readonly commits: readonly CommitLine[]
  readonly files: readonly FileStat[]
  readonly lacks: string | null
}

/** Who stopped everything, when and why; the reason is null where none was given. */
export interface Halt {
  readonly by: string
  readonly at: Millis
  readonly reason: string | null
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
  /** How many entries are sound, and the hash of the last of them; empty when there is none. */
  readonly entries: number
  readonly head: string
  readonly fault: ChainFault | null
  /** The hashes of the entries that were asked for, where the journal holds them. */
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

/** A plan with everything that is written about it. */
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
  /** How many entries were read, proven to be chained, and decided as they were. */
  readonly entries: number
  /** Of these, how many turns of how many owners the loop asked for again, answered from the record. */
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
  /** Entries that were decided again and not re-enacted, and why. */
  readonly redecidedOnly: readonly { readonly why: string; readonly entries: number; readonly first: number }[]
  /** One hash over all decisions, in order. Two replays that decide the same have the same. */
  readonly trace: Sha256
  /** The hash of the last sound entry; empty when there is none. */
  readonly head: string
  readonly fault: ReplayFault | null
}

export type ReplayFault = {
  readonly version: number
  /** Null when there is no such entry. */
  readonly position: Position | null
  readonly message: string
} & (
  | { readonly type: 'chain'; readonly kind: 'tampered' | 'missing' | 'unreadable' }
  /** Written by a program that knew more than this one: nothing is wrong, but it cannot be judged here. */
  | { readonly type: 'unknown' }
  /** Expected is what the rules come to, actual is what the journal holds; absent is nothing. */
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
  /** How many criteria the plan has. */
  readonly criteria: number
  /** Why nothing more may be spent; null while there is something left. */
  readonly spent: string | null
}

export interface Drift {
  readonly revision: number
  readonly since: { readonly at: Millis; readonly version: number }
  /** Null when it is where it was, or nobody knows where it was. */
  readonly commit: {
    readonly from: Where
    readonly to: Where
    readonly by: 'plan' | 'somebody'
  } | null
  readonly files: readonly DriftedFile[]
  /** How files were compared: all of them, only what the plan wrote, or not at all. */
  readonly basis: 'whole' | 'written' | 'none'
  /** Why not all of them; null when all were. */
  readonly lacks: string | null
  readonly unmet: readonly UnmetCriterion[]
  /** Declared outputs of completed tasks that are gone, or not as they were left. */
  readonly outputs: readonly LostOutput[]
}

export type Where = Pick<GitStanding, 'head' | 'branch'>

export interface DriftedFile {
  readonly path: string
  readonly what: 'created' | 'changed' | 'deleted'
  /** `plan`: it is as these tasks left it. */
  readonly by: 'plan' | 'somebody'
  /** The tasks that wrote it since, whoever wrote last. */
  readonly tasks: readonly TaskName[]
}

export interface UnmetCriterion {
  readonly task: TaskName
  readonly stage: 'precondition' | 'acceptance' | 'done'
  readonly criterion: string
  readonly evidence: string | null
}

/** What an adoption would do. Nothing was changed. */
export type AdoptionPreview =
  | {
      readonly ok: true
      readonly fork: { readonly plan: PlanId; readonly name: string }
      readonly into: { readonly plan: PlanId; readonly name: string }
      /** `under way`: it was ordered and has not ended. */
      readonly status: 'open' | 'under way' | 'adopted' | 'unchanged'
      /** Whether the folder was looked at, or the snapshot of the fork's end, or only its journal. */
      readonly seen: 'folder' | 'end' | 'journal'
      /** What the fork changed and is not adopted yet. */
      readonly changes: readonly Change[]
      /** What would become of each of these paths. */
      readonly files: readonly FilePreview[]
      readonly left: readonly LeftOut[]
    }
  | { readonly ok: false; readonly refusal: Refusal }

export interface FilePreview extends Preview {
  /** It is perhaps somebody else's, and stays unless it is included: what is done to it then. */
  readonly unclaimed?: 'restore' | 'create' | 'delete' | 'chmod'
  /** The plan changed it and it was never stored, so that it stays. `path` may be the patterns of a whole scope. */
  readonly uncovered?: true
}

/** What a rollback would do. Nothing was changed. */
export type RollbackPreview =
  | {
      readonly ok: true
      readonly kind: 'rollback' | 'undo'
      /** Of an undo: the fork whose adoption is undone; or that what was undone last is done again. */
      readonly adopted?: string
      readonly redoes?: true
      readonly label?: string
      /** The entry it goes to, and the checkpoint it is known by. */
      readonly to: number
      readonly checkpoint: Checkpoint | null
      readonly files: readonly FilePreview[]
      readonly resets: readonly Reset[]
      readonly compensate: readonly TaskName[]
      /** What happened outside the workspace and stays: tasks with effects nobody can undo here. */
      readonly stays: readonly { readonly task: TaskName; readonly why: string; readonly declared: boolean }[]
      /** What people decided since then about tasks that will run again: it is asked again. */
      readonly decisionsLost: readonly Pick<EventOf<'gate.decided'>, 'task' | 'verdict' | 'by'>[]
      readonly git: readonly RollbackStep[]
      /** Edits somebody made between two tasks, kept under their hash. */
      readonly kept: readonly { readonly path: string; readonly sha256: Sha256 }[]
    }
  | { readonly ok: false; readonly refusal: Refusal }

export interface TaskPage extends Omit<TaskRecord, 'card'> {
  readonly card: Card
  readonly name: string
  readonly version: number
  /** Why it stands where it stands. */
  readonly why: Hint
  readonly attempts: readonly AttemptFacts[]
  readonly decisions: readonly DecisionFacts[]
  readonly criteria: readonly ContractLine[]
  /** What would run; null for what has ended, or when that cannot be told. */
  readonly preview: string | null
  /** The last that was printed, oldest first. */
  readonly log: readonly StoredLog[]
  /** More was printed before that. */
  readonly isLogCut: boolean
}

/** What one attempt changed. */
export interface ChangesShown {
  readonly visit: number
  readonly attempt: number
  readonly files: readonly FileShown[]
  /** So many more files it changed. */
  readonly more: number
}

export interface FileShown extends ChangedFile {
  /** Sizes in bytes; null where there is no file. */
  readonly before: number | null
  readonly after: number | null
  /** The lines that differ, in the unified form; null with the reason why not. */
  readonly patch: readonly string[] | null
  readonly why: string | null
}

export interface Consent {
  /** Of what was stored; an approval agrees to this. */
  readonly hash: Sha256
  readonly shown: Shown
  readonly patches: { readonly [path: string]: StoredText }
  readonly files: { readonly [sha256: string]: StoredText }
}

/** A plan as it stands. There is no token of a claim in it. */
export interface StateNow {
  readonly version: number
  /** Of its last entry in the journal of the store: to watch the plan from here is to miss nothing. */
  readonly position: Position
  /** As `packFold` makes it, without a definition. */
  readonly fold: JsonObject
  readonly definition: PlanDefinition
}

export interface Overview extends Omit<OverviewPage, 'items'> {
  readonly items: readonly (PlanOverview & {
    /** How many items of it are in the inbox; null when its journal is damaged. */
    readonly waiting: number | null
    readonly seen: SeenState
  })[]
}

/** The state of a plan in the word that people see, and whose sign and colour it has. */
export type SeenState = Pick<ShownState, 'word' | 'sign'>

/** What each query is answered with; null for what is not there. */
export interface Answers {
  find: Found | null
  /** The whole state, to be unpacked and carried on by whoever asks (`unpackFold`, then `evolve` with every later entry). */
  state: StateNow | null
  summary: (Summary & { readonly holder: Holder | null }) | null
  board: readonly Card[] | null
  task: Card | null
  /** What whoever takes the task in hand must know, with its inputs resolved. */
  briefing: Briefing | null
  /** A task that a revision took away, as it stood last; null for one that is there or never was. */
  removed: Removed | null
  definition: {
    readonly definition: PlanDefinition
    readonly revision: number
    /** '' while tasks were added to a draft that nobody has sealed. */
    readonly hash: string
    /** The policy around the plan, as it was written down at the start; absent where there was none. */
    readonly policy?: readonly PolicyLayer[]
  } | null
  /** What can be worked on now, best first. */
  next: {
    readonly ready: readonly Card[]
    /** How many can be claimed. */
    readonly claimable: number
    readonly explained: readonly { readonly task: TaskName; readonly why: Hint }[]
    /** Those that could begin if other plans did not hold their files. */
    readonly held: readonly ScopeWait[]
  } | null
  record: PlanRecord | { readonly unchanged: true } | null
  records: Records | null
  /** What was said of a task's work, oldest first. */
  evaluations: readonly Evaluation[] | null
  plans: Page<PlanRow>
  /** Plans looked over, with what waits in them for a person. */
  overview: Overview
  tasks: Page<TaskRow>
  attempts: Page<AttemptRow>
  metrics: readonly MetricRow[] | null
  /** Attempts that have ended, summed up. */
  steps: CaughtUp<StepsRow> | null
  /** Plans, tasks and output by their words. */
  search: CaughtUp<SearchHit>
  entries: readonly Entry[] | null
  logs: readonly StoredLog[] | null
  /** A task with everything a page shows of it, but no content of files. */
  taskPage: TaskPage | null
  /** What an attempt of a task changed in files, line by line. */
  taskChanges: ChangesShown | null
  /** What a gate asks, as it was stored, with all texts it shows. Null when it asks for no consent. */
  consent: Consent | null
  /** The diff or command a task would carry out, without doing it. */
  preview: { readonly text: string } | null
  /** Every entry proven, decided again, and where a loop wrote it re-enacted. Nothing is written, run or reached. */
  replay: Replay | null
  checkpoints: readonly Checkpoint[] | null
  /** One of them, with what the plan knew there. */
  checkpoint: CheckpointFound | null
  /** Paths that differ between two checkpoints, or one and now. */
  checkpointDiff: CheckpointDiff | null
  /** Files that the plan left different, by path. */
  changedFiles: readonly ChangedFile[] | null
  /** The bytes of an artifact that a task of the plan left; null when none did. */
  artifact: Uint8Array | null
  blob: Uint8Array | null
  rollbackPreview: RollbackPreview | null
  /** Versions of files that were set back and can be restored, oldest first. */
  keptFiles: readonly KeptFile[] | null
  adoption: AdoptionPreview | null
  compare: Comparison | null
  pullRequest: PullRequest | null
  /** Who asked, decided, ran and wrote what, as far as the chain proves it. */
  audit: AuditTrail | null
  /** The chain of a journal, proven to its end; with the hashes of single entries. */
  chain: Chain | null
  /** What whoever comes next must know, as facts and as Markdown. The same journal gives the same. */
  handoff: HandedOn | null
  digest: Digest | null
  /** What is spent, reserved and left, and a forecast of the rest. */
  budget: BudgetReport | null
  /** Every revision that was proposed, oldest first, and what became of it. */
  proposals: readonly ProposalCard[] | null
  /** How far `converge` has come. */
  converging: Converging | null
  /** What has moved since the plan became what it is, and by whose hand. */
  drift: Drift | null
  /** Every criterion, and how it was judged last. */
  contract: Contract | null
  /** Everything that waits for a person, in all plans, oldest first, each with the answers that whoever asks may give. */
  inbox: Inbox
  /** Questions asked in the middle of work: those that wait, or the one that was asked for, with its answer. */
  questions: readonly AskedQuestion[] | null
  /** Approvals that are looked at together, oldest first. */
  reviews: readonly OpenReview[] | null
  /** What became of something that waited; null for an id that never did. */
  inboxFate: InboxFate | null
  /** Where the journal of the whole store ends now: to watch from here is to see what happens next. */
  position: Position
  check: CheckReport
  /** `agentHomes`: plans that have ended and whose agents had homes in the state folder. */
  prune: Pruned & { readonly moved: MovedFiles; readonly agentHomes: number }
}

/** Where a query in this process may say more than one that travels. */
interface InProcess {
  plans: PlanQuery
  overview: Omit<OverviewQuery, 'among'>
  tasks: TaskQuery
  search: SearchQuery
}

type Asks = {
  readonly [T in keyof WireQueries]: Omit<WireQueries[T], 'type'> & (T extends keyof InProcess ? InProcess[T] : unknown)
}

/** Every query, its keys as format/wire/queries.ts has them, and its answer. */
export type Queries = { readonly [T in keyof Answers]: { readonly ask: Asks[T]; readonly answer: Answers[T] } }

export interface CheckpointCard extends Omit<Checkpoint, 'why'> {
  /** `entry`: none was taken there. */
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
      /** `whole`: all files of both were stored. `written`: only what the plan wrote between them is known. */
      readonly basis: 'whole' | 'written'
      readonly changes: readonly Change[]
      readonly left: readonly LeftOut[]
    }
  | { readonly ok: false; readonly refusal: Refusal }

export type QueryType = keyof Queries

export type QueryOf<T extends QueryType> = { readonly type: T } & Queries[T]['ask']

export type AnswerOf<T extends QueryType> = Answers[T]

/** A task that could begin if other plans did not hold its files. */
export interface ScopeWait {
  readonly task: TaskName
  readonly visit: number
  /** Where it works, relative to the state folder, and what it would write there. */
  readonly root: string
  readonly paths: readonly string[]
  /** Without plans that lie outside the scope of whoever asks. */
  readonly by: readonly ScopeBlocker[]
}

/** Who holds them. */
export interface ScopeBlocker extends ScopeHolder {
  /** A living process drives that plan. */
  readonly driven: boolean
  /** The orders that end the wait where nobody drives it. */
  readonly orders: readonly ('resume' | 'cancel')[]
}
