// `planfold init`: a place for plans, and an example plan to start from.

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { answer, type Context, withState } from '../../command.ts'

export const EXAMPLE_PLAN = `# A Planfold plan. Check it with 'planfold validate plan.yaml', run it with 'planfold run plan.yaml'.
# Stop it with Ctrl-C or kill it at any time: 'planfold resume' continues where it stopped.
planfold: 1
name: hello
title: A first plan
goal: hello.txt contains a greeting that somebody approved

tasks:
  - id: look
    title: See where we are
    run: [uname, -s]                # a list is a command with its arguments, no shell
    effect: pure                    # only reads: after a crash it is simply run again
    outputs: { system: { stdout: text } }

  - id: write
    needs: [look]
    edit:                           # changes to files, applied together, exactly once
      - { file: hello.txt, create: "Hello from Planfold\\n" }

  - id: count
    needs: [write]
    run: wc -c hello.txt            # text is a script for sh -eu
    effect: pure
    timeout: 10s
    retry: { attempts: 3, backoff: 1s..5s }

  - id: review
    title: Is the greeting friendly enough?
    needs: [count]
    gate: approval                  # waits for a person: planfold approve review

  - id: tidy
    needs: [review]
    edit:
      - { file: hello.txt, delete: true }
`

export async function init(context: Context): Promise<number> {
  return await withState(context, { create: true }, async ({ stateDir }) => {
    const plan = join(context.cwd, 'plan.yaml')
    const written = await writeNew(plan, EXAMPLE_PLAN)
    answer(context, { stateDir, plan: written ? plan : null }, () =>
      context.settings.quiet
        ? []
        : [
            `state in ${stateDir}`,
            written ? 'wrote plan.yaml, an example' : 'plan.yaml is there already; left as it is',
            '',
            'look at it:  planfold validate plan.yaml',
            'run it:      planfold run plan.yaml',
          ],
    )
    return 0
  })
}

/** Never overwrites; true when it wrote. */
async function writeNew(path: string, text: string): Promise<boolean> {
  try {
    await writeFile(path, text, { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}
