// The action of a task as written: command, script, edits, request or instruction.

import { actionFacts } from '../../src/domain/actions/actions.ts'
import type { TaskDefinition } from '../../src/domain/plan.ts'
import { spelled } from '../../src/domain/views/pages/foreign-text.ts'
import { Argv } from '../parts/argv.tsx'

export function ActionShown({ definition }: { readonly definition: TaskDefinition }) {
  const { action, instruction } = definition
  const { shown, prompts, runsCommands } = actionFacts(action)
  if (shown === undefined)
    return instruction === undefined ? null : (
      <section>
        <h3>{prompts === true && runsCommands !== true ? 'Prompt' : 'Instruction'}</h3>
        <p className="prose">{instruction}</p>
      </section>
    )
  const parts = shown(action)
  if (parts === null) return null
  return (
    <section>
      <h3>
        {parts.head} {'rows' in parts && <s>{parts.rows.length}</s>}
      </h3>
      {'argv' in parts && <Argv argv={parts.argv} />}
      {'lines' in parts && <pre className="block">{spelled(parts.lines.join('\n'))}</pre>}
      {'rows' in parts && (
        <ul className="files">
          {parts.rows.map(([name, what], at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows are in order, and two may be the same.
            <li key={at}>
              <code>{name}</code>
              <span className="space" />
              <span className="dim">{what}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}
