// Lessons of earlier plans: what critics, reviews and people said about the work of a task that has ended since. A lesson holds as long as
// the lines that the task left in the files that it is about: they are looked up in the files of today, so nothing has to be kept up to
// date. What no longer holds is listed with the reason, and given to no one.

import type { Millis } from '../../domain/id.ts'
import { isA } from '../../domain/json.ts'
import { chosenLessons, type FileOfLesson, type Lesson, lessonHead } from '../../domain/memory/lesson.ts'
import { isConfidential } from '../../domain/plan-rules/confidential.ts'
import { scopeOf } from '../../domain/plan-rules/effect.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import { ENDED } from '../../domain/status.ts'
import { mapLines, textLines } from '../../format/text/line-map.ts'
import { orElseAsync } from '../../safety/safety-refusal.ts'
import { inScope } from '../../safety/scope.ts'
import { redactor, secretsIn } from '../../safety/secrets/redaction.ts'
import { StoreDamaged } from '../../stores/store.ts'
import type { Change } from '../../workspace/workspace.ts'
import { RecordedChanges, readNow } from '../files/recorded-changes.ts'
import { changesOfTask, marked } from '../judges/judged-work.ts'
import type { Rooms } from '../rooms.ts'

/** The newest plans, in which lessons are looked for. */
const PLANS_MAX = 200
const FILES_MAX = 10
const UNFILED_MS = 30 * 24 * 60 * 60_000
const TEXT_MAX = 2_000

/** Newest first. With `file`, those about it. */
export async function lessons(
  rooms: Rooms,
  { place = null, file }: { readonly place?: string | null; readonly file?: string } = {},
): Promise<readonly Lesson[]> {
  const { items } = await rooms.store.plans({ limit: PLANS_MAX })
  const found: Lesson[] = []
  // Read once, and only if a file is gone.
  let read: Promise<RecordedChanges> | undefined
  const changes = () => (read ??= RecordedChanges.read(rooms, place))
  for (const { id } of items) {
    if ((await rooms.store.shared?.workspaceOf(id))?.here === false) continue
    const state = await orElseAsync(() => rooms.store.state(id), null, isA(StoreDamaged))
    if (state === null || state.place !== place) continue
    for (const task of state.order) found.push(...(await lessonsOf(rooms, changes, state, task)))
  }
  const isAbout = ({ files }: Lesson): boolean =>
    file === undefined || files.some(({ path, now }) => path === file || now === file)
  return found.filter(isAbout).sort((a, b) => b.at - a.at)
}

async function lessonsOf(
  rooms: Rooms,
  changesHere: () => Promise<RecordedChanges>,
  state: PlanState,
  task: TaskState,
): Promise<readonly Lesson[]> {
  const { definition, feedback, endedAt, status } = task
  if (feedback.length === 0 || endedAt === null || !ENDED.has(status)) return []
  if (isConfidential(state.definition, definition)) return []
  const changes = (await changesOfTask(rooms, state, definition.id)) ?? []
  const redact = redactor(secretsIn(rooms.environment), { parts: true })
  const found: Lesson[] = []
  for (const { by, text, visit = 1 } of feedback) {
    const files: FileOfLesson[] = []
    for (const { change, line } of filesOf(text, changes))
      files.push(await fileToday(rooms, changesHere, endedAt, change, line))
    const about = { plan: state.id, name: state.definition.name, task: definition.id, visit, by, at: endedAt }
    found.push({
      ...about,
      text: redact(text).slice(0, TEXT_MAX),
      files,
      ...standingOf(files, endedAt, rooms.clock.now()),
    })
  }
  return found
}

/** One about several files holds for those that still have its lines. */
function standingOf(files: readonly FileOfLesson[], at: Millis, now: Millis): Pick<Lesson, 'standing' | 'why'> {
  if (files.length === 0)
    return now - at <= UNFILED_MS
      ? { standing: 'valid', why: null }
      : { standing: 'dropped', why: 'it is about no file, and older than 30 days' }
  const best =
    files.find(one => one.standing === 'valid') ?? files.find(one => one.standing === 'doubtful') ?? files[0]!
  return { standing: best.standing, why: best.why }
}

interface About {
  readonly change: Change
  /** The line that was named; null if none was. */
  readonly line: number | null
}

/** The changed files that it names, else all that the task changed. */
function filesOf(text: string, changes: readonly Change[]): readonly About[] {
  const named = changes.flatMap(change => {
    const at = text.indexOf(change.path)
    const isWhole =
      at >= 0 && !/[\w./-]/.test(text[at - 1] ?? ' ') && !/[\w/-]/.test(text[at + change.path.length] ?? ' ')
    const line = /^:(\d{1,7})/.exec(text.slice(at + change.path.length))?.[1]
    return isWhole ? [{ change, line: line === undefined ? null : Number(line) }] : []
  })
  return (named.length > 0 ? named : changes.map(change => ({ change, line: null }))).slice(0, FILES_MAX)
}

async function fileToday(
  rooms: Rooms,
  changes: () => Promise<RecordedChanges>,
  endedAt: Millis,
  { path, before, after }: Change,
  line: number | null,
): Promise<FileOfLesson> {
  const dropped = (why: string): FileOfLesson => ({ path, now: null, standing: 'dropped', why })
  const content = async (at: string): Promise<Uint8Array | null> => {
    const read = await readNow(rooms, at)
    return read.ok ? read.value : null
  }
  const there = await content(path)
  if (after?.type !== 'file')
    return there === null
      ? { path, now: path, standing: 'valid', why: null }
      : dropped(`there is a file '${path}' again`)
  const now = there === null ? await (await changes()).today(path, endedAt) : path
  const bytes = there ?? (await content(now))
  if (bytes === null) return dropped(`'${path}' is gone`)
  const [was, left] = [await linesOf(rooms, before), await linesOf(rooms, after)]
  if (left === null) return dropped(`what the task left in '${path}' is no longer stored`)
  const today = textLines(bytes) ?? []
  const map = mapLines(left, today)
  const lost = linesAbout(was, left, line).filter(each => map.newer(each) === null)
  const all = new Set(lost.length === 0 ? [] : today)
  if (!lost.every(each => all.has(left[each - 1]!))) return dropped(`its lines in '${path}' were changed`)
  const why = now !== path ? `'${path}' is '${now}' now` : lost.length > 0 ? `its lines in '${path}' were moved` : null
  return { path, now, standing: why === null ? 'valid' : 'doubtful', why }
}

/** The lines that the task wrote; of several stretches the one nearest to the line that was named. All lines if it only deleted some. */
function linesAbout(was: readonly string[] | null, left: readonly string[], line: number | null): readonly number[] {
  const map = mapLines(was ?? [], left)
  const all = left.map((_, at) => at + 1)
  const written = all.filter(each => map.older(each) === null)
  const stretches: number[][] = []
  for (const each of written)
    if (stretches.at(-1)?.at(-1) === each - 1) stretches.at(-1)!.push(each)
    else stretches.push([each])
  const away = (stretch: readonly number[]): number =>
    Math.max(0, stretch[0]! - line!, line! - stretch[stretch.length - 1]!)
  const about = line === null ? written : (stretches.sort((a, b) => away(a) - away(b))[0] ?? [])
  // Blank lines and brackets stand in many places.
  const telling = about.filter(each => /[\p{L}\p{N}]/u.test(left[each - 1]!))
  return telling.length > 0 ? telling : about.length > 0 ? about : all
}

/** Null if it is not stored; of a binary file its hash. */
async function linesOf({ store }: Rooms, entry: Change['after']): Promise<readonly string[] | null> {
  if (entry?.type !== 'file') return []
  const bytes = await store.blobs.get(entry.sha256)
  return bytes === null ? null : (textLines(bytes) ?? [entry.sha256])
}

/** For the files that a task may write, each marked as data. Those of its own plan are in its feedback already. */
export async function lessonsFor(rooms: Rooms, state: PlanState, task: TaskState): Promise<readonly string[]> {
  const scope = scopeOf(state.definition, task.definition)
  const others = (await lessons(rooms, { place: state.place })).filter(({ plan }) => plan !== state.id)
  return chosenLessons(others, path => scope === null || inScope(scope, path)).map(one => {
    const head = lessonHead(one)
    return marked(`${one.name}/${one.task}`, head, one.text, head.length + TEXT_MAX)
  })
}
