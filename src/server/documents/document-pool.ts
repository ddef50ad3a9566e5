// Worker threads for long documents. Documents above 32 kB are processed in a small thread pool, so that the event loop keeps
// answering other requests. Jobs are limited in time and memory; a thread that exceeds a limit is terminated, and its request
// gets a problem that says what to do. Threads start with the first long document and end when idle.
//
//   run ──→ an idle thread, or a new one, or the queue ──→ reply ──→ idle ──(30 s)──→ ended
//                 └─→ no thread can be started: 503     └─→ over time or out of memory: ended at once, 413

import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { Worker, type WorkerOptions } from 'node:worker_threads'
import { type Problem, problem } from '../problem.ts'
import { type DocumentJob, JOBS, type JobInput, type JobName, type JobOutput } from './document-jobs.ts'

/** Documents up to this length take milliseconds and are processed in the main thread. */
export const SHORT_MAX = 32 * 1024

export interface DocumentPoolOptions {
  readonly threadsMax?: number
  readonly timeMaxMs?: number
  readonly memoryMaxMb?: number
  readonly waitingMax?: number
  readonly idleMs?: number
  /** If it throws and no other thread is left, the waiting jobs get a problem. */
  readonly startWorker?: (program: URL, options: WorkerOptions) => Worker
}

/** A long request body, validated in a thread; `value` is the result of the route's schema. */
export interface BodyInput {
  readonly method: string
  readonly path: string
  readonly text: string
  readonly limits: { readonly jsonDepth: number; readonly jsonNodes: number }
}
export type BodyOutput = { readonly value: unknown } | Problem | { readonly unknownRoute: true }

/** The messages between pool and thread. Values travel as JSON text, because parsing is faster than structured cloning. */
export interface Request {
  readonly job: JobName | 'read-body'
  readonly input: string
}
export type Reply = { readonly text: string } | { readonly value: unknown } | { readonly bug: string }

interface Waiting {
  readonly request: Request
  readonly settle: (reply: Reply | Problem) => void
  readonly fail: (error: Error) => void
}

interface Thread {
  readonly worker: Worker
  current: Waiting | null
  timer: NodeJS.Timeout | null
}

const DEFAULTS: Required<DocumentPoolOptions> = {
  threadsMax: 2,
  timeMaxMs: 30_000,
  memoryMaxMb: 512,
  waitingMax: 32,
  idleMs: 30_000,
  startWorker: (file, options) => new Worker(file, options),
}

export class DocumentPool {
  readonly #options: Required<DocumentPoolOptions>
  readonly #threads = new Set<Thread>()
  readonly #waiting: Waiting[] = []
  #isClosed = false

  constructor(options: DocumentPoolOptions = {}) {
    this.#options = { ...DEFAULTS, ...options }
  }

  get threads(): number {
    return this.#threads.size
  }

  /** Runs a short job here and a long one in a thread. `length` is the length of its longest text, in characters. */
  async run<N extends DocumentJob>(job: N, input: JobInput<N>, length: number): Promise<JobOutput<N> | Problem> {
    const here = JOBS[job] as (input: JobInput<N>) => JobOutput<N>
    if (length <= SHORT_MAX) return here(input)
    return (await this.#send({ job, input: JSON.stringify(input) })) as JobOutput<N> | Problem
  }

  /** Always in a thread, since inspecting a repository takes a while. */
  async propose(input: object): Promise<unknown> {
    return await this.#send({ job: 'propose', input: JSON.stringify(input) })
  }

  async readBody(input: BodyInput): Promise<BodyOutput> {
    return (await this.#send({ job: 'read-body', input: JSON.stringify(input) })) as BodyOutput
  }

  /** Like `run`, for a definition; its length is measured while it is serialised. */
  async runOn<N extends 'analyze' | 'surroundings' | 'print' | 'draw' | 'check'>(
    job: N,
    input: JobInput<N>,
  ): Promise<JobOutput<N> | Problem> {
    const here = JOBS[job] as (input: JobInput<N>) => JobOutput<N>
    const text = JSON.stringify(input)
    return text.length <= SHORT_MAX ? here(input) : ((await this.#send({ job, input: text })) as JobOutput<N> | Problem)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const waiting of this.#waiting.splice(0)) waiting.settle(STOPPING)
    await Promise.all([...this.#threads].map(thread => this.#end(thread, STOPPING)))
  }

  async #send(request: Request): Promise<unknown> {
    if (this.#isClosed) return STOPPING
    if (this.#waiting.length >= this.#options.waitingMax) return BUSY
    const reply = await new Promise<Reply | Problem>((settle, fail) => {
      this.#waiting.push({ request, settle, fail })
      this.#next()
    })
    if ('problem' in reply) return reply
    if ('bug' in reply) throw new Error(`a job on a document failed: ${reply.bug}`)
    return 'text' in reply ? JSON.parse(reply.text) : reply.value
  }

  #next(): void {
    if (this.#waiting.length === 0) return
    let thread = [...this.#threads].find(({ current }) => current === null)
    if (thread === undefined && this.#threads.size < this.#options.threadsMax) thread = this.#tryStart()
    if (thread === undefined) return
    const waiting = this.#waiting.shift()!
    const { timeMaxMs } = this.#options
    this.#stopTimer(thread)
    thread.current = waiting
    const used = thread
    thread.timer = setTimeout(() => void this.#end(used, tooSlow(timeMaxMs)), timeMaxMs)
    thread.worker.postMessage(waiting.request)
  }

  /** Never throws. If no thread is left, the waiting jobs get a problem, and the next job tries again. */
  #tryStart(): Thread | undefined {
    try {
      return this.#start()
    } catch (error) {
      if (this.#threads.size === 0) for (const waiting of this.#waiting.splice(0)) waiting.settle(noThread(error))
      return undefined
    }
  }

  #start(): Thread {
    const worker = this.#options.startWorker(program(), {
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: this.#options.memoryMaxMb },
    })
    const thread: Thread = { worker, current: null, timer: null }
    this.#threads.add(thread)
    worker.unref()
    worker.on('message', (reply: Reply) => this.#replied(thread, reply))
    worker.on('error', (error: Error & { readonly code?: string }) => {
      const { current } = thread
      thread.current = null
      if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') current?.settle(TOO_LARGE)
      else current?.fail(error)
    })
    worker.on('exit', () => {
      this.#stopTimer(thread)
      this.#threads.delete(thread)
      thread.current?.fail(new Error('a thread that works on documents ended by itself'))
      this.#next()
    })
    return thread
  }

  #replied(thread: Thread, reply: Reply): void {
    const { current } = thread
    thread.current = null
    this.#stopTimer(thread)
    thread.timer = setTimeout(() => void this.#end(thread, STOPPING), this.#options.idleMs)
    thread.timer.unref()
    current?.settle(reply)
    this.#next()
  }

  async #end(thread: Thread, why: Problem): Promise<void> {
    this.#stopTimer(thread)
    const { current } = thread
    thread.current = null
    this.#threads.delete(thread)
    current?.settle(why)
    await thread.worker.terminate()
  }

  #stopTimer(thread: Thread): void {
    if (thread.timer !== null) clearTimeout(thread.timer)
    thread.timer = null
  }
}

const SPLIT = 'split it into several plans, or put large content into files that the tasks read'

const tooSlow = (ms: number): Problem =>
  problem(413, 'too-large', `working on the document took more than ${ms / 1_000} seconds, so it was given up`, {
    hint: `${SPLIT}; plain JSON is read many times quicker than YAML or Markdown`,
  })

const TOO_LARGE = problem(413, 'too-large', 'working on the document needed more memory than a request may use', {
  hint: SPLIT,
})

const BUSY = problem(503, 'busy', 'too many long documents are waiting to be read; nothing was changed', {
  hint: 'try again',
  headers: { 'retry-after': '2' },
})

function noThread(error: unknown): Problem {
  const { code } = error as { readonly code?: unknown }
  const why = typeof code === 'string' ? ` (${code})` : ''
  return problem(503, 'busy', `no thread could be started to read the document${why}; nothing was changed`, {
    hint: 'try again; if it stays so, restart the service, and install planfold again if that does not help',
    headers: { 'retry-after': '5' },
  })
}

const STOPPING = problem(503, 'busy', 'the service is stopping; nothing was changed', {
  hint: 'try again when it runs again',
  headers: { 'retry-after': '5' },
})

/**
 * The script a thread runs. In the bundle, this module is part of another file, one folder below `dist`. In the source tree, which is
 * TypeScript, the worker is compiled once into a single script; only tests and tools do that.
 */
function program(): URL {
  const here = import.meta.url
  const isSource = here.endsWith('.ts')
  const name = `document-worker.${isSource ? 'ts' : 'js'}`
  const file = [`./${name}`, `../server/documents/${name}`, `../src/server/documents/${name}`]
    .map(place => new URL(place, here))
    .find(url => existsSync(fileURLToPath(url)))
  if (file === undefined) throw new Error(`the file ${name} is missing beside ${here}: install planfold again`)
  if (!isSource) return file
  compiled ??= compile(file)
  return compiled
}

let compiled: URL | null = null

function compile(file: URL): URL {
  const { buildSync } = createRequire(import.meta.url)('esbuild') as Compiler
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(file)],
    bundle: true,
    write: false,
    platform: 'node',
    format: 'esm',
    // Some packages load parts of Node with `require`.
    banner: {
      js: `import { createRequire as toRequire } from 'node:module'\nconst require = toRequire('${file.href}')`,
    },
  })
  return new URL(`data:text/javascript;base64,${Buffer.from(outputFiles[0]?.contents ?? '').toString('base64')}`)
}

interface Compiler {
  buildSync(options: object): { readonly outputFiles: readonly { readonly contents: Uint8Array }[] }
}
