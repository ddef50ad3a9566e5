// `planfold export PLAN`: the plan as a document (YAML or JSON), or its whole journal as JSON lines.

import type { Composed } from '../../compose.ts'
import type { PlanId } from '../../domain/id.ts'
import { escapeForTerminal } from '../../safety/terminal.ts'
import { envelope } from '../answer.ts'
import { type Context, withState } from '../context.ts'
import { EXIT } from '../exit.ts'
import { meantPlan } from '../meant.ts'

export type ExportFormat = 'yaml' | 'json' | 'journal'

const PAGE = 500

export async function exportPlan(
  context: Context,
  word: string | undefined,
  options: { readonly format: ExportFormat },
): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const { plan, name } = await meantPlan(composed.engine, word)
    if (options.format === 'journal') return await journal(context, composed, plan)
    const current = await composed.engine.ask({ type: 'definition', plan })
    if (current === null) throw new Error(`the plan ${plan} has gone`)
    const { printJson, printYaml } = await import('../../format/print.ts')
    const text = options.format === 'yaml' ? printYaml(current.definition) : printJson(current.definition)
    if (context.settings.json) {
      context.stdout.write(
        envelope({
          data: { plan, name, revision: current.revision, hash: current.hash, format: options.format, text },
        }),
      )
    } else context.stdout.write(context.terminal === null ? text : escapeForTerminal(text, { keepLines: true }))
    return EXIT.done
  })
}

/** One entry a line; with --json each in its envelope. */
async function journal(context: Context, { engine }: Composed, plan: PlanId): Promise<number> {
  for (let after = 0; ; ) {
    const entries = (await engine.ask({ type: 'entries', plan, after, limit: PAGE })) ?? []
    for (const entry of entries)
      context.stdout.write(context.settings.json ? envelope({ data: entry }) : `${JSON.stringify(entry)}\n`)
    if (entries.length < PAGE || context.hangup.aborted) return EXIT.done
    after = entries.at(-1)!.version
  }
}
