// `planfold hook pre-tool-use`: an agent calls it before each tool that writes files. It denies a write outside the scope of the task
// that this session has claimed, and prints nothing otherwise, so that the agent's own rules decide. If it fails itself, it exits
// with 0 and one line on standard error, so that the agent continues.

import { isAbsolute } from 'node:path'
import { type Context, complaintOf, EXIT, withState } from '../../../cli/command.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { claimedScopes, type DeniedWrite, deniedWrite } from '../integration/write-guard.ts'
import { type HookInput, readHookInput, textIn, writtenPaths } from './hook-input.ts'
import { sessionNames } from './session-names.ts'

export async function preToolUse(context: Context): Promise<number> {
  try {
    const input = await readHookInput(context)
    const paths = input === undefined ? null : writtenPaths(input)
    if (input === undefined || paths === null)
      context.stderr.write('planfold hook: expected the JSON of a tool call on standard input\n')
    else if (paths.length > 0) {
      const denied = await judge(context, input, paths)
      if (denied !== null) context.stdout.write(denial(input, denied))
    }
  } catch (error) {
    const complaint = complaintOf(error)
    if (complaint?.code !== 'no-state') {
      const why = complaint?.message ?? (error instanceof Error ? error.message : String(error))
      context.stderr.write(`planfold hook: ${escapeForTerminal(why)}\n`)
    }
  }
  return EXIT.done
}

async function judge(context: Context, input: HookInput, paths: readonly string[]): Promise<DeniedWrite | null> {
  const { environment, settings } = context
  const [project, said] = [environment.CLAUDE_PROJECT_DIR, textIn(input, 'cwd')]
  const cwd = said !== undefined && isAbsolute(said) ? said : context.cwd
  // An agent may have gone to another folder; its plans are those of the project it was started in.
  const from = project !== undefined && isAbsolute(project) ? project : cwd
  const names = [
    settings.as ?? environment.PLANFOLD_AS,
    ...sessionNames(environment.CLAUDE_CODE_SESSION_ID),
    ...sessionNames(textIn(input, 'session_id')),
  ].filter(name => name !== undefined)
  if (names.length === 0) return null
  return await withState({ ...context, cwd: from }, { create: false, reading: true }, async composed => {
    const { engine, root, stateDir } = composed
    const home = environment.HOME ?? ''
    const target = paths.map(path => (path.startsWith('~/') && isAbsolute(home) ? `${home}${path.slice(1)}` : path))
    return await deniedWrite({ root, stateDir, cwd }, await claimedScopes(engine, [...new Set(names)]), target)
  })
}

/** Claude Code and Codex read the same shape; the hook of Gemini CLI has another name, and its own shape. */
function denial(input: HookInput, denied: DeniedWrite): string {
  const reason = reasonText(denied)
  const said =
    input.hook_event_name === 'BeforeTool'
      ? { decision: 'deny', reason }
      : {
          hookSpecificOutput: {
            hookEventName: 'PreToolUse',
            permissionDecision: 'deny',
            permissionDecisionReason: reason,
          },
        }
  return `${JSON.stringify(said)}\n`
}

function reasonText({ path, rule, scope: { plan, task, write, place } }: DeniedWrite): string {
  const file = cut(path)
  if (rule !== null)
    return `Planfold: ${file} is protected (${rule}): no task may write there. Leave it, or ask the person to change it.`
  const scope = write === null ? null : cut(write.join(', ')) || 'nothing'
  const where = place === null ? null : `in ${cut(place)}`
  const allowed = [scope, where].filter(one => one !== null).join(', ') || 'the workspace'
  return `Planfold: ${file} is outside what '${task}' of plan '${plan}' may write (${allowed}). Write inside it, or ask the person to widen \`write\` of the task; report the task first if this is other work.`
}

const TEXT_MAX = 300

function cut(text: string): string {
  const line = escapeForTerminal(text)
  return line.length <= TEXT_MAX ? line : `${line.slice(0, TEXT_MAX)}…`
}
