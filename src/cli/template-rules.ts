// Rules of `recover` that would plan by a template nobody has: told when the plan is read, not when the task has failed. Only a
// warning, because a template may be put on the shelf later.

import type { TaskName } from '../domain/id.ts'
import type { PlanDefinition, TaskDefinition } from '../domain/plan.ts'
import { writtenTasks } from '../domain/structure.ts'
import { suggest } from '../domain/suggest.ts'
import type { DefinitionFault } from '../format/parse.ts'
import type { Context } from './context.ts'

type Place = readonly (string | number)[]
interface Named {
  readonly template: string
  readonly task: TaskName
  /** Below the `recover` of the task. */
  readonly at: Place
}

export async function unknownTemplates(
  context: Context,
  definition: PlanDefinition,
): Promise<readonly DefinitionFault[]> {
  const named = [...writtenTasks(definition)].flatMap(({ task, name }) =>
    templatesIn(task).map(({ template, at }) => ({ template, at, task: name })),
  )
  // Most plans name none; then the shelf is not looked at.
  if (named.length === 0) return []
  const { shelf } = await import('./commands/template-shelf.ts')
  const known = (await shelf(context)).map(({ name }) => name)
  return named.filter(({ template }) => !known.includes(template)).map(one => faultOf(one, known))
}

function faultOf({ template, task, at }: Named, known: readonly string[]): DefinitionFault {
  const near = suggest(template, known)
  return {
    task,
    key: 'recover',
    at,
    message: `there is no template '${template.slice(0, 60)}': this rule would have nothing to propose`,
    hint:
      near === null
        ? '`planfold template list` shows all; `planfold template save` makes one'
        : `did you mean '${near}'?`,
  }
}

function templatesIn({ recover = [] }: TaskDefinition): readonly Pick<Named, 'template' | 'at'>[] {
  return recover.flatMap(({ do: way }, index) => {
    if (way.type !== 'replan') return []
    const own = way.template === undefined ? [] : [{ template: way.template, at: [index, 'replan', 'template'] }]
    const added = (way.add ?? []).flatMap((task, place) =>
      templatesIn(task).map(({ template, at }) => ({
        template,
        at: [index, 'replan', 'add', place, 'recover', ...at],
      })),
    )
    return [...own, ...added]
  })
}
