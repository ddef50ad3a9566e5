// The mirror: one file for each plan, `plans/<name>.json`, with its document and where every task stands, for people and programs
// that read files. It is never the truth and never read back: the journal is, and `export --mirror` writes it anew. Each
// write replaces the whole file in one step, so a reader, or a crash, never meets half of one.
//
// It is on when PLANFOLD_MIRROR names a folder, or with --mirror. While a plan is driven it follows the journal, a few
// times a second at most; a failure to write it is reported once and stops nothing.

import { existsSync, realpathSync } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, isAbsolute, join, resolve, sep } from 'node:path'
import type { Composed } from '../compose.ts'
import type { PlanId } from '../domain/id.ts'
import type { Engine, EngineInProcess } from '../engine/engine.ts'
import { printNote } from './answer.ts'
import type { Context } from './context.ts'
import { usage } from './exit.ts'

export const MIRROR_FOLDER = 'plans'

export type MirrorOption = string | true

/** The folder of mirrors; null: none. A relative path must stay in the workspace, also after links are followed. */
export function mirrorFolder(
  context: Pick<Context, 'environment'>,
  composed: Pick<Composed, 'root'>,
  option?: MirrorOption,
): string | null {
  const named = option === true ? MIRROR_FOLDER : (option ?? context.environment.PLANFOLD_MIRROR ?? '')
  if (named === '') return null
  const folder = resolve(composed.root, named)
  if (!isAbsolute(named) && !isBelow(existing(folder), realpathSync(composed.root)))
    throw usage(`the mirror '${named}' would be outside the workspace`, 'name the folder with its full path')
  return folder
}

const isBelow = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}${sep}`)

function existing(path: string): string {
  for (let at = path; ; at = dirname(at)) {
    if (existsSync(at)) return realpathSync(at)
    if (at === dirname(at)) return at
  }
}

/** The content of the file, which depends on the journal alone. Null when there is no such plan. */
export async function mirrorText(
  engine: Engine,
  plan: string,
): Promise<{ readonly name: string; readonly version: number; readonly text: string } | null> {
  const { raisePlan } = await import('../format/plan/definition-to-document.ts')
  for (let tries = 1; ; tries++) {
    const summary = await engine.ask({ type: 'summary', plan })
    const current = await engine.ask({ type: 'definition', plan })
    const board = await engine.ask({ type: 'board', plan })
    if (summary === null || current === null || board === null) return null
    const after = await engine.ask({ type: 'summary', plan })
    // It moved on while we read: once more, so that everything in the file is of one moment.
    if (after?.version !== summary.version && tries < READS_MAX) continue
    const { holder: _, running: _running, waiting, failed, claimable: _claimable, ...about } = summary
    const tasks = board.map(({ name, status, visit, attempt, startedAt, endedAt, claimedBy, reason }) => ({
      name,
      status,
      visit,
      attempt,
      startedAt,
      endedAt,
      claimedBy,
      reason,
    }))
    const { version, name, ...rest } = about
    const content = {
      mirror: 1,
      version,
      name,
      ...rest,
      hash: current.hash,
      waiting,
      failed,
      tasks,
      document: raisePlan(current.definition),
    }
    return { name, version, text: `${JSON.stringify(content, null, 2)}\n` }
  }
}

const READS_MAX = 5

export async function writeMirror(engine: Engine, plan: string, folder: string): Promise<string | null> {
  const content = await mirrorText(engine, plan)
  if (content === null) return null
  const path = join(folder, `${content.name}.json`)
  // Another process may have mirrored a later moment meanwhile.
  if ((await versionIn(path)) > content.version && (await isOf(path, plan))) return path
  await mkdir(folder, { recursive: true })
  const temporary = join(folder, `.${content.name}.json.${process.pid}.tmp`)
  try {
    const file = await open(temporary, 'w', 0o644)
    try {
      await file.writeFile(content.text)
      await file.datasync()
    } finally {
      await file.close()
    }
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
  return path
}

async function versionIn(path: string): Promise<number> {
  const match = /^\{\s*"mirror": 1,\s*"version": (\d+),/.exec(await headOf(path))
  return match === null ? 0 : Number(match[1])
}

const isOf = async (path: string, plan: string): Promise<boolean> => (await headOf(path)).includes(`"id": "${plan}"`)

async function headOf(path: string): Promise<string> {
  const file = await open(path, 'r').catch(() => null)
  if (file === null) return ''
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(512), 0, 512, 0)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}

const STALE_MS = 60_000

export async function clearStale(folder: string, now: number): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    if (!/^\..+\.json\.\d+\.tmp$/.test(name)) continue
    const found = await stat(join(folder, name)).catch(() => null)
    if (found !== null && found.mtimeMs < now - STALE_MS) await rm(join(folder, name), { force: true })
  }
}

const REST_MS = 250

export class Mirror {
  readonly #context: Context
  readonly #engine: Engine
  readonly #plan: PlanId
  readonly #folder: string
  #timer: NodeJS.Timeout | null = null
  #writing: Promise<void> | null = null
  #restMs = REST_MS
  #isStale = true
  #isReported = false

  constructor(context: Context, engine: Engine, plan: PlanId, folder: string) {
    this.#context = context
    this.#engine = engine
    this.#plan = plan
    this.#folder = folder
    void clearStale(folder, context.now()).catch(() => {})
    this.touch()
  }

  touch(): void {
    this.#isStale = true
    if (this.#timer !== null || this.#writing !== null) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      void this.#write()
    }, this.#restMs)
  }

  async close(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    await this.#writing
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#isStale = true
    await this.#write()
  }

  async #write(): Promise<void> {
    if (!this.#isStale) return
    this.#isStale = false
    const began = this.#context.now()
    this.#writing = writeMirror(this.#engine, this.#plan, this.#folder)
      .then(() => {})
      .catch((error: unknown) => this.#tell(error))
    await this.#writing
    this.#writing = null
    // A large plan takes its time to write; it is written less often, not all the time.
    this.#restMs = Math.max(REST_MS, 10 * (this.#context.now() - began))
    if (this.#isStale) this.touch()
  }

  #tell(error: unknown): void {
    if (this.#isReported) return
    this.#isReported = true
    const why = error instanceof Error ? error.message : String(error)
    printNote(this.#context, `the mirror in ${this.#folder} could not be written: ${why}; the plan continues`)
  }
}

/** Notes which plans a command changes, and mirrors them when it has ended. Only where PLANFOLD_MIRROR asks for it. */
export function mirroring(
  context: Context,
  composed: Composed,
): { readonly composed: Composed; readonly flush: () => Promise<void> } {
  const folder = mirrorFolder(context, composed)
  if (folder === null) return { composed, flush: async () => {} }
  const { engine } = composed
  const changed = new Set<PlanId>()
  const noting = (engine: EngineInProcess): EngineInProcess => ({
    submit: async (...order) => {
      const submitted = await engine.submit(...order)
      if (submitted.ok) changed.add(submitted.plan)
      return submitted
    },
    answered: (...asked) => engine.answered(...asked),
    caller: engine.caller,
    rightFor: order => engine.rightFor(order),
    as: caller => noting(engine.as(caller)),
    ask: query => engine.ask(query),
    watch: options => engine.watch(options),
    close: () => engine.close(),
    killSwitch: engine.killSwitch,
    sessions: engine.sessions,
    memory: engine.memory,
    goals: engine.goals,
  })
  return {
    composed: { ...composed, engine: noting(engine) },
    flush: async () => {
      for (const plan of changed) {
        const mirror = new Mirror(context, engine, plan, folder)
        await mirror.close()
      }
    },
  }
}
