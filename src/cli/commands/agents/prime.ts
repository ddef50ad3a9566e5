// `planfold prime [PLAN]`: what an agent needs to know when it starts or was compacted. As text for people and plugins; as the JSON
// that a hook prints, which ends well and says one line where there is no plan or it cannot be read.

import { claudeName, codexName } from '../../../mcp/agent-name.ts'
import { type Prime, primePlan } from '../../../operations/agents/prime-plan.ts'
import { PRIME_TOKENS, PRIME_TOKENS_MIN, primeText } from '../../../operations/agents/prime-text.ts'
import { tokensOf } from '../../../operations/agents/token-budget.ts'
import type { Missing } from '../../../operations/find-target.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answerDocument } from '../../answer.ts'
import { type Context, withState } from '../../context.ts'
import { complaintOf, EXIT, usage } from '../../exit.ts'
import { demandTarget } from '../../find-target.ts'
import { callerName } from '../../open-state.ts'

export interface PrimeOptions {
  readonly maxTokens?: number
  readonly format: 'text' | 'claude-hook' | 'codex-hook' | 'gemini-hook'
}

export async function prime(context: Context, word: string | undefined, options: PrimeOptions): Promise<number> {
  const { maxTokens = PRIME_TOKENS, format } = options
  if (maxTokens < PRIME_TOKENS_MIN)
    throw usage(`--max-tokens ${maxTokens} is too small`, `write at least ${PRIME_TOKENS_MIN}`)
  if (format !== 'text') {
    context.stdout.write(hookOutput(await textForHook(context, word, maxTokens)))
    return EXIT.done
  }
  const found = await readPrime(context, word, (engine, missing) => demandTarget(engine, { ok: false, missing }))
  if (found === null) return EXIT.usage
  const text = textOf(found, maxTokens)
  answerDocument(context, { ...found, text, tokens: tokensOf(text) }, () => text)
  return EXIT.done
}

const TOOLS = [
  'plan_read shows the plan: the next task, one task with its inputs, a list, why a task is blocked, a search, changes since a revision.',
  'plan_write changes it and answers with the new state: claim, report with evidence, add or change tasks, note, ask a person, checkpoint.',
  'Claim before you work, write only in the scope, report only what you checked, ask instead of guessing. Without these tools: `planfold help agents`.',
]

const textOf = (found: Prime, maxTokens: number): string =>
  primeText(found, {
    maxTokens,
    tools: TOOLS,
    more: `Read the rest with plan_read, or with \`planfold show ${found.name}\`.`,
  })

/** Whatever is wrong with the plan, the agent starts as if we were not there, and is told in one line. */
async function textForHook(context: Context, word: string | undefined, maxTokens: number): Promise<string> {
  try {
    const found = await readPrime(context, word, async () => null, await sessionOf(context))
    return found === null ? 'Planfold: no plan is open in this folder.' : textOf(found, maxTokens)
  } catch (error) {
    const complaint = complaintOf(error)
    if (complaint?.code === 'no-state') return 'Planfold: no plan is open in this folder.'
    const why = complaint?.message ?? (error instanceof Error ? error.message : String(error))
    return `Planfold: the plan of this folder cannot be read (${escapeForTerminal(why).slice(0, WHY_MAX)}). Tell the person; \`planfold check\` looks for damage.`
  }
}

const WHY_MAX = 300

/** Claude Code, Codex and Gemini CLI read the same shape. */
const hookOutput = (text: string): string =>
  `${JSON.stringify({ hookSpecificOutput: { hookEventName: 'SessionStart', additionalContext: text } })}\n`

async function readPrime(
  context: Context,
  word: string | undefined,
  missed: (engine: Parameters<typeof demandTarget>[0], missing: Missing) => Promise<unknown>,
  session?: string,
): Promise<Prime | null> {
  const { cwd, environment, settings } = context
  return await withState(context, { create: false, reading: true }, async ({ engine, now }) => {
    const name = await callerName({ cwd, environment, ...(settings.as === undefined ? {} : { as: settings.as }) })
    const agents = [name, ...sessionNames(environment.CLAUDE_CODE_SESSION_ID), ...sessionNames(session)]
    const found = await primePlan({ engine, now, agents }, word)
    if (found.ok) return found.prime
    await missed(engine, found.missing)
    return null
  })
}

/** The names under which the MCP server writes down what Claude Code and Codex claim in this session. */
const sessionNames = (session: string | undefined): readonly string[] =>
  session === undefined ? [] : [claudeName(session), codexName(session)]

const INPUT_MAX_BYTES = 64 * 1024
/** Agents write their input at once; where nothing comes, somebody tries the hook by hand. */
const INPUT_MS = 300

/** A hook is given the id of its session on standard input; undefined where it is not. */
async function sessionOf({ terminal, stdin }: Context): Promise<string | undefined> {
  if (terminal !== null) return undefined
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>(resolve => {
    timer = setTimeout(() => resolve(undefined), INPUT_MS)
  })
  const read = async (): Promise<string | undefined> => {
    let text = ''
    for await (const chunk of stdin()) {
      text += Buffer.from(chunk).toString('utf8')
      const id = sessionIn(text)
      if (id !== undefined || text.length > INPUT_MAX_BYTES) return id
    }
    return undefined
  }
  return await Promise.race([read().catch(() => undefined), late]).finally(() => clearTimeout(timer))
}

/** Undefined while the text is not whole. */
function sessionIn(text: string): string | undefined {
  try {
    const input: unknown = JSON.parse(text)
    const id = typeof input === 'object' && input !== null && 'session_id' in input ? input.session_id : undefined
    return typeof id === 'string' ? id : undefined
  } catch {
    return undefined
  }
}
