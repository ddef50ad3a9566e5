// One check for every face: what each kind of plan that cannot work is refused with, and where in its document.

import { describe, expect, test } from 'vitest'
import { plainHint } from '../domain/hint.ts'
import { parsePlan } from '../format/plan/parse.ts'
import { checkPlan } from './check-plan.ts'

const faults = (tasks: string, rest = ''): readonly string[] => {
  const parsed = parsePlan(`planfold: 1\nname: p\n${rest}tasks:\n${tasks}`, { check: checkPlan })
  return parsed.ok
    ? []
    : parsed.diagnostics.map(({ line, message, hint }) => `${line} ${message} (${plainHint(hint ?? '')})`)
}

describe('refused before it runs', () => {
  test.each([
    ['/srv', "'a' runs in '/srv', which is not a folder inside the workspace"],
    ['../other', "'a' runs in '../other', which is not a folder inside the workspace"],
    ['src/../../x', "'a' runs in 'src/../../x', which is not a folder inside the workspace"],
    ['~/x', "'a' runs in '~/x', which is not a folder inside the workspace"],
  ])('a folder that is not in the workspace: %s', (cwd, message) => {
    expect(faults(`  - { id: a, run: [ls],\n     cwd: ${cwd} }\n`)).toEqual([expect.stringContaining(`5 ${message}`)])
  })

  test('folders of the workspace are fine', () => {
    expect(faults('  - { id: a, run: [ls], cwd: src/lib }\n  - { id: b, run: [ls], cwd: . }\n')).toEqual([])
  })

  test.each([
    ...['PATH', 'LD_PRELOAD', 'NODE_OPTIONS', 'PLANFOLD_KEY', 'PLANFOLD_FEEDBACK', 'https_proxy', 'GIT_DIR'],
    ...['HOME', 'XDG_CONFIG_HOME', 'XDG_RUNTIME_DIR', 'PLANFOLD_DIR', 'PLANFOLD_SANDBOX', 'DOTNET_STARTUP_HOOKS'],
  ])('a reserved environment variable: %s', name => {
    expect(faults(`  - id: a\n    run: [ls]\n    env:\n      FINE: x\n      ${name}: x\n`)).toEqual([
      expect.stringContaining(`8 'a' sets the environment variable '${name}', which `),
    ])
  })

  test('outputs of a task that does not come before', () => {
    const tasks =
      '  - { id: a, run: [ls], outputs: { x: stdout } }\n  - { id: b, run: [echo, "${{ tasks.a.outputs.x }}"] }\n'
    expect(faults(tasks)).toEqual([
      "5 'b' reads 'tasks.a.outputs.x', but does not come after 'a' (add 'a' to its 'needs')",
    ])
    expect(faults(tasks.replace('id: b,', 'id: b, needs: [a],'))).toEqual([])
  })

  test('an outcome that never comes, of a command and of a decision', () => {
    expect(faults('  - id: a\n    run: [ls]\n    on:\n      faliure: b\n  - { id: b }\n')).toEqual([
      "7 'a' has no outcome 'faliure' (did you mean 'failure'? known: success, failure, rejected)",
    ])
    const decision = (on: string) =>
      faults(`  - { id: d, decide: "1 < 2 ? 'big' : 'small'", on: { ${on}: b } }\n  - { id: b }\n`)
    expect(decision('bigg')).toEqual([
      "4 'd' has no outcome 'bigg' (did you mean 'big'? known: small, big, default, failure, rejected)",
    ])
    expect(decision('small')).toEqual([])
    expect(decision('default')).toEqual([])
    expect(faults('  - { id: d, decide: inputs.x, inputs: { x: y }, on: { y: b } }\n  - { id: b }\n')).toEqual([])
  })

  test('edits outside of the policy and into protected places', () => {
    const edit = (file: string) => `  - { id: a, edit: { file: ${file}, create: x } }\n`
    expect(faults(edit('doc/x'), 'policy: { write: [src/**] }\n')).toEqual([
      "5 'a' edits 'doc/x', which is not in the plan's policy.write (add the file to `write`, or name another)",
    ])
    expect(faults(edit('.git/hooks/post-commit'))).toEqual([
      "4 'a' edits '.git/hooks/post-commit', which is protected (.git) (name a file inside the workspace)",
    ])
    expect(faults(edit('.github/workflows/ci.yml'))).toEqual([expect.stringContaining('is protected')])
    expect(faults(edit('../x'))).toEqual([expect.stringContaining('is not a path inside the workspace')])
  })

  test('a namespace that there is not', () => {
    expect(
      faults(
        '  - { id: a, run: [ls], outputs: { x: stdout } }\n  - { id: b, needs: [a], when: tasks.a.output.x == 1 }\n',
      ),
    ).toEqual(["5 a task has no 'output' in expressions (did you mean 'outputs'?)"])
  })

  test('a dangling need points at its own line', () => {
    expect(faults('  - id: a\n    needs:\n      - b\n      - gone\n  - { id: b }\n')).toEqual([
      "7 task 'a' needs 'gone', which does not exist (name a task of this plan)",
    ])
  })
})
