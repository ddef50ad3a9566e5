// `planfold prime [PLAN]`: what an agent needs to know when it starts or was compacted. As text for people and plugins; as the JSON
// that a hook prints, which ends well and says one line where there is no plan or it cannot be read.

import { answerDocument, type Context, complaintOf, EXIT, usage, withState } from '../../../cli/command.ts'
import { demandTarget } from '../../../cli/find-target.ts'
import { callerName } from '../../../cli/open-state.ts'
import { tokensOf } from '../../../operations/agents/token-budget.ts'
import type { Missing } from '../../../operations/find-target.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { type Prime, primePlan } from '../integration/prime-plan.ts'
import { PRIME_TOKENS, PRIME_TOKENS_MIN, primeText } from '../integration/prime-text.ts'
import { readHookInput, textIn } from './hook-input.ts'
import { sessionNames } from './session-names.ts'

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

/** An error in the plan must not keep the agent from starting: it gets one line about it. */
async function textForHook(context: Context, word: string | undefined, maxTokens: number): Promise<string> {
  try {
    const found = await readPrime(context, word, async () => null, textIn(await readHookInput(context), 'session_id'))
    if (found !== null) return textOf(found, maxTokens)
    const none = word === undefined ? 'no plan is open in this folder' : `there is no plan '${escapeForTerminal(word)}'`
    return `Planfold: ${none}.`
  } catch (error) {
    const complaint = complaintOf(error)
    if (complaint?.code === 'no-state') return 'Planfold: no plan is open in this folder.'
    const why = complaint?.message ?? (error instanceof Error ? error.message : String(error))
    return `Planfold: the plan of this folder cannot be read (${escapeForTerminal(why).slice(0, WHY_MAX)}). Tell the person; \`planfold doctor store\` looks for damage.`
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
    const name = await callerName({ cwd, environment, as: settings.as })
    const agents = [name, ...sessionNames(environment.CLAUDE_CODE_SESSION_ID), ...sessionNames(session)]
    const found = await primePlan({ engine, now, agents }, word)
    if (found.ok) return found.prime
    await missed(engine, found.missing)
    return null
  })
}
