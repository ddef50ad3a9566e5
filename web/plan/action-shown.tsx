// What a task does, as it is written: every word of a command, a script, edits, an instruction.

import type { TaskDefinition } from '../../src/domain/plan.ts'
import { dbLines, dbRequest } from '../../src/domain/plan-rules/db-request.ts'
import { httpRequest, requestLines } from '../../src/domain/plan-rules/http-request.ts'
import { runnerLines, runnerRequest } from '../../src/domain/plan-rules/runner-request.ts'
import { spelled } from '../../src/domain/views/pages/spelled-text.ts'
import { Argv } from '../parts/argv.tsx'

export function ActionShown({ definition }: { readonly definition: TaskDefinition }) {
  const { action, instruction } = definition
  switch (action.type) {
    case 'run':
      return (
        <section>
          <h3>Runs</h3>
          {'argv' in action.command ? (
            <Argv argv={action.command.argv} />
          ) : (
            <pre className="block">{spelled(action.command.script)}</pre>
          )}
        </section>
      )
    case 'edit':
      return (
        <section>
          <h3>
            Edits <s>{action.edits.length}</s>
          </h3>
          <ul className="files">
            {action.edits.map((edit, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: edits are in order, and one file may be edited twice.
              <li key={at}>
                <code>{'file' in edit ? edit.file : JSON.stringify(edit)}</code>
                <span className="space" />
                <span className="dim">{edit.type}</span>
              </li>
            ))}
          </ul>
        </section>
      )
    case 'decide':
      return (
        <section>
          <h3>Expression</h3>
          <pre className="block">{action.expression}</pre>
        </section>
      )
    case 'http': {
      const request = httpRequest(action)
      return request === null ? null : <Lines head="Sends" lines={requestLines(request)} />
    }
    case 'db': {
      const request = dbRequest(action)
      return request === null ? null : <Lines head="Database" lines={dbLines(request)} />
    }
    case 'runner': {
      const request = runnerRequest(action)
      return request === null ? null : <Lines head="Runner" lines={runnerLines(request)} />
    }
    default:
      return instruction === undefined ? null : (
        <section>
          <h3>{action.type === 'model' ? 'Prompt' : 'Instruction'}</h3>
          <p className="prose">{instruction}</p>
        </section>
      )
  }
}

const Lines = ({ head, lines }: { readonly head: string; readonly lines: readonly string[] }) => (
  <section>
    <h3>{head}</h3>
    <pre className="block">{lines.join('\n')}</pre>
  </section>
)
