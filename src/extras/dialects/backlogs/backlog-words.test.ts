// What each backlog means by its words, what happens to a text when the plan has changed, and what is refused where.

import { describe, expect, it } from 'vitest'
import { cpuMs } from '../../../domain/cpu-time.fixture.ts'
import type { TaskName } from '../../../domain/id.ts'
import { backlogMd } from './backlog-md.ts'
import { bundle, bundleFault, unbundle } from './backlog-md-files.ts'
import { FILES, print, read, SAMPLES, withTask, wrong } from './backlogs.fixture.ts'
import { beads } from './beads.ts'
import { specKit } from './spec-kit.ts'
import { taskMaster } from './task-master.ts'

const sample = (name: string) => SAMPLES.find(one => one.name === name)!.text
const needs = (plan: { definition: { tasks: readonly { id: TaskName; needs?: readonly TaskName[] }[] } }) =>
  Object.fromEntries(plan.definition.tasks.map(task => [task.id, task.needs ?? []]))

describe('Task Master', () => {
  const tagged = read(taskMaster, sample('task-master-tagged'))

  it('a task needs its subtasks, and they wait for whatever it waits for', () => {
    expect(needs(tagged)).toEqual({
      '1': [],
      '2': ['1', '2.1', '2.2'],
      '2.1': ['1'],
      '2.2': ['2.1', '1'],
      '3': ['2', '2.1'],
      '4': [],
      '5b': ['3'],
    })
  })

  it('a change of the plan is written, and everything else stays as it was', () => {
    const lines = (text: string) => text.split('\n')
    const before = lines(sample('task-master-tagged'))
    const renamed = print(taskMaster, withTask(tagged, '2.2', { title: 'Latin-9' }))
    expect(renamed.lost).toEqual([])
    expect(lines(renamed.text).filter((line, index) => line !== before[index])).toEqual([
      '            "title": "Latin-9",',
    ])
    const sooner = print(taskMaster, withTask(tagged, '3', { needs: ['1'], priority: 10 }))
    expect(sooner.lost).toEqual([])
    expect(needs(read(taskMaster, sooner.text))['3']).toEqual(['1'])
    const { tasks } = tagged.definition
    const fewer = print(taskMaster, {
      ...tagged,
      definition: { ...tagged.definition, tasks: tasks.filter(({ id }) => id !== '5b' && id !== '4') },
    })
    expect(fewer.lost).toEqual([])
    const more = {
      id: 'new' as TaskName,
      title: 'New',
      action: { type: 'external' as const },
      needs: ['2.2' as TaskName],
    }
    const grown = print(taskMaster, { ...tagged, definition: { ...tagged.definition, tasks: [...tasks, more] } })
    expect(grown.lost).toEqual([])
    expect(JSON.parse(grown.text).master.tasks.at(-1)).toEqual({
      id: 'new',
      title: 'New',
      dependencies: ['2.2'],
      status: 'pending',
      subtasks: [],
    })
  })

  it('statuses it has no word for are written as the nearest, and told', () => {
    const out = print(taskMaster, tagged, { '3': 'failed', '5b': 'skipped', '2': 'running', '2.2': 'waiting' })
    const { tasks } = JSON.parse(out.text).master
    expect(tasks.map((task: { status: string }) => task.status)).toEqual([
      'done',
      'in-progress',
      'blocked',
      'cancelled',
      'cancelled',
    ])
    expect(tasks[1].subtasks[1].status).toBe('review')
    expect(out.lost).toEqual(["task '3': status failed", "task '5b': status skipped"])
  })

  it('regression 4: an unknown status is refused at its place, not taken for another', () => {
    const text = sample('task-master-bare').replace('"status": "pending"', '"status": "finished"')
    expect(wrong(taskMaster, text)).toEqual([expect.stringMatching(/^11:23 "finished" is not a status here \[/)])
  })

  it('regression 8: the same id twice is refused at the second', () => {
    const text = sample('task-master-bare').replace('"id": 11', '"id": 10')
    expect(wrong(taskMaster, text)).toContainEqual(expect.stringMatching(/^18:19 two tasks are called '10'/))
  })

  it('regression 20: what is not there cannot be waited for; circles are told with their path', () => {
    const text = sample('task-master-bare')
    expect(wrong(taskMaster, text.replace('                10\n', '                99\n'))[0]).toMatch(
      /^22:29 task '11' needs '99', which does not exist/,
    )
    const ring = text.replace('"dependencies": [],', '"dependencies": [11],')
    expect(wrong(taskMaster, ring)[0]).toMatch(/10 → 11 → 10|11 → 10 → 11/)
  })

  it('refuses lists that are none, with a place', () => {
    expect(wrong(taskMaster, '{"tasks": []}')).toEqual([expect.stringContaining('1:1 there is no list of tasks')])
    expect(wrong(taskMaster, '{"tasks": [{"title": "x"}]}')[0]).toContain('this task has no id')
    expect(wrong(taskMaster, '{"tasks": [{"id": 1, "title": "x", "subtasks": 3}]}')[0]).toContain(
      "'subtasks' is not a list",
    )
    expect(wrong(taskMaster, '{"tasks": [{"id": 1, "title": "x", "dependencies": "2"}]}')[0]).toContain('is not a list')
    expect(wrong(taskMaster, '{"tasks": [{"id": 1, "title": "x", "__proto__": {"a": 1}}]}')[0]).toContain(
      "'__proto__' cannot be a key",
    )
  })
})

describe('Beads', () => {
  const plan = read(beads, sample('beads'))

  it('what was only found on the way, or is related, blocks nobody', () => {
    expect(needs(plan)).toEqual({
      'bd-a1f': ['bd-a1f.1', 'bd-a1f.2'],
      'bd-a1f.1': [],
      'bd-a1f.2': ['bd-a1f.1'],
      'bd-9c0': [],
      'bd-7-old': [],
    })
  })

  it('given up is closed with the reason, and read as such', () => {
    const out = print(beads, plan, { 'bd-9c0': 'skipped', 'bd-a1f.2': 'abandoned' })
    expect(out.lost).toEqual([])
    expect(read(beads, out.text).ended.get('bd-9c0' as TaskName)).toBe('skipped')
  })

  it('a need that was added or dropped is a link that was added or dropped', () => {
    const out = print(beads, withTask(plan, 'bd-9c0', { needs: ['bd-a1f'] }))
    expect(out.lost).toEqual([])
    expect(JSON.parse(out.text.split('\n')[3]!).dependencies.map((link: { type: string }) => link.type)).toEqual([
      'discovered-from',
      'related',
      'blocks',
    ])
    const free = print(beads, withTask(plan, 'bd-a1f.2', { needs: undefined }))
    expect(JSON.parse(free.text.split('\n')[2]!).dependencies).toHaveLength(1)
  })

  it('an epic that its own child waits for is no circle', () => {
    const child =
      '{"id":"b","title":"b","issue_type":"task","dependencies":[{"issue_id":"b","depends_on_id":"a","type":"parent-child"},{"issue_id":"b","depends_on_id":"a","type":"blocks"}]}'
    expect(needs(read(beads, `{"id":"a","title":"a","issue_type":"epic"}\n${child}\n`))).toEqual({ a: [], b: ['a'] })
  })

  it('lines that are no issues are kept where they stood', () => {
    const text =
      '{"id":"a","title":"a","status":"open"}\n{"_type":"memory","key":"k","value":"v"}\n{"id":"b","title":"b","status":"open"}\n'
    expect(print(beads, read(beads, text))).toEqual({ text, lost: [] })
  })

  it('tells the line and the column of what is wrong', () => {
    const lines = sample('beads').split('\n')
    expect(wrong(beads, `${lines[0]}\n{"id": "x", "title": "y", "status": "opne"}`)).toEqual([
      expect.stringMatching(/^2:37 "opne" is not a status here \[did you mean 'open'\?\]$/),
    ])
    expect(wrong(beads, `${lines[0]}\nnot json`)[0]).toMatch(/^2:1 this line is not an issue/)
    expect(wrong(beads, `${lines[0]}\n{"id": 3}`)[0]).toMatch(/^2:1 this issue has no id/)
    expect(wrong(beads, '')[0]).toContain('there is no issue here')
    expect(wrong(beads, '{"id":"a","title":"a","__proto__":{"polluted":1}}')[0]).toContain(
      "'__proto__' cannot be a key",
    )
  })
})

describe('Backlog.md', () => {
  const plan = read(backlogMd, sample('backlog-md'))

  it('a folder is one text, and comes apart again', () => {
    expect(unbundle(bundle(FILES))!.map(({ name, text }) => ({ name, text }))).toEqual(FILES)
    expect(read(backlogMd, bundle(FILES)).definition.tasks).toHaveLength(FILES.length)
    expect(bundleFault([{ name: 'a.md', text: 'x\n<!-- file: b.md -->\n' }])).toContain('a.md contains a line')
    expect(bundleFault([{ name: '../a.md', text: '' }])).toContain('is not a valid name')
    expect(bundleFault([{ name: '.hidden', text: '' }])).toContain('is not a valid name')
  })

  it('one file alone is a plan of one task', () => {
    const text = FILES[0]!.text.replace('dependencies:\n  - task-9\n', 'dependencies: []\n')
    expect(print(backlogMd, read(backlogMd, text))).toEqual({ text, lost: [] })
  })

  it('a change of the plan changes that part of the file', () => {
    const out = print(
      backlogMd,
      withTask(plan, 'task-7', {
        title: 'Weigh: everything',
        description: 'New.',
        accept: [{ type: 'prose', text: 'One' }],
        labels: ['a'],
        priority: -10,
        needs: ['task-7.1'],
      }),
      { 'task-7': 'running' },
    )
    expect(out.lost).toEqual([])
    const [first, ...others] = unbundle(out.text)!
    // What the child waited for because its parent did, it says by itself now.
    expect(others[0]!.text).toBe(FILES[1]!.text.replace('dependencies: []', 'dependencies:\n  - task-9'))
    expect(others.slice(1).map(({ text }) => text)).toEqual(FILES.slice(2).map(({ text }) => text))
    expect(first!.text).toContain(
      "title: 'Weigh: everything'\nstatus: In Progress\nassignee:\n  - '@lina'\n  - '@agent'\n",
    )
    expect(first!.text).toContain('labels:\n  - a\nmilestone: m-1\ndependencies: []\npriority: low\nordinal: 2000\n')
    expect(first!.text).toContain(
      '## Acceptance Criteria\n<!-- AC:BEGIN -->\n- [ ] #1 One\n<!-- AC:END -->\n\n## Implementation Plan',
    )
    expect(first!.text).toContain('The first scale drifted when it was cold.')
  })

  it('tells the line of the file that is wrong', () => {
    expect(wrong(backlogMd, '# hello\n')[0]).toContain('1:1 this file has no front matter')
    expect(wrong(backlogMd, '---\ntitle: x\nstatus: Done\n---\n')[0]).toContain('this task has no id')
    expect(wrong(backlogMd, '---\nid: a\ntitle: x\nlabels: {a: 1}\n---\n')[0]).toMatch(/^4:1 'labels' is not a list/)
    expect(wrong(backlogMd, '---\nid: a\ntitle: "x\n---\n')[0]).toMatch(/^\d+:\d+ /)
    expect(
      wrong(
        backlogMd,
        bundle([
          { name: 'a.md', text: '---\nid: a\ntitle: x\n---\n' },
          { name: 'b.md', text: '---\nid: b\ndependencies: [c]\n---\n' },
        ]),
      )[0],
    ).toMatch(/^8:1 task 'b' needs 'c'/)
  })
})

describe('spec-kit', () => {
  const plan = read(specKit, sample('spec-kit-tasks'))

  it('phases and tasks follow one another, neighbours marked [P] go side by side', () => {
    expect(needs(plan)).toEqual({
      T001: [],
      T002: ['T001'],
      T003: ['T001'],
      T004: ['T002', 'T003'],
      T005: ['T004'],
      T006: ['T005'],
      T007: ['T005'],
      T008: ['T006', 'T007'],
      T009: ['T008'],
    })
  })

  it('a task that is added, dropped or renamed changes its own line', () => {
    const { tasks } = plan.definition
    const fewer = print(specKit, {
      ...plan,
      definition: { ...plan.definition, tasks: tasks.filter(({ id }) => id !== 'T004') },
    })
    expect(fewer.text).toContain(
      '## Phase 2: Foundations\n\n**⚠️ FIRST**: no story begins before this phase is done\n\n- [ ] T005',
    )
    const renamed = print(specKit, withTask(plan, 'T004', { title: 'Keep items', description: undefined }))
    expect(renamed.text).toContain('- [ ] T004 Keep items\n- [ ] T005')
    expect(renamed.lost).toEqual([])
    expect(print(specKit, withTask(plan, 'T004', { needs: undefined })).lost).toEqual(["task 'T004': needs"])
    expect(print(specKit, plan, { T003: 'failed' }).lost).toEqual(["task 'T003': status failed"])
  })

  it('words that name a later task turn the order round instead of making a circle', () => {
    const text = '# Tasks: x\n\n- [ ] T001 A (depends on T002)\n- [ ] T002 B\n'
    expect(needs(read(specKit, text))).toEqual({ T001: ['T002'], T002: [] })
    expect(print(specKit, read(specKit, text))).toEqual({ text, lost: [] })
  })

  it('windows line ends, tabs and a missing last newline stay', () => {
    const text = '# Tasks: x\r\n\r\n## Phase 1: A\r\n\r\n- [x] T001 [P] A\r\n\t- more\r\n- [ ] T002 B'
    expect(print(specKit, read(specKit, text))).toEqual({ text, lost: [] })
  })

  it('refuses an empty list, the same id twice, and more neighbours than anyone can wait for', () => {
    expect(wrong(specKit, '# Tasks: x\n')[0]).toContain('there is no task in this list')
    expect(wrong(specKit, '# Tasks: x\n- [ ] T001 a\n- [ ] T001 b\n')[0]).toMatch(/^3:1 two tasks are called 'T001'/)
    const group = (phase: number) =>
      `## Phase ${phase}: p\n${Array.from({ length: 1_000 }, (_, index) => `- [ ] T${phase}${String(index).padStart(4, '0')} [P] x\n`).join('')}`
    expect(wrong(specKit, `# Tasks: x\n${group(1)}${group(2)}`)[0]).toContain('too many tasks run in parallel')
  })
})

describe('large backlogs', () => {
  it('2,000 tasks of each are read and printed within seconds', () => {
    const count = 2_000
    const numbers = Array.from({ length: count }, (_, index) => index + 1)
    const master = {
      master: {
        tasks: numbers.map(id => ({
          id,
          title: `t${id}`,
          description: '',
          details: 'd',
          testStrategy: 's',
          priority: 'high',
          dependencies: id === 1 ? [] : [id - 1],
          status: 'pending',
          subtasks: [],
        })),
      },
    }
    const texts = [
      [taskMaster, `${JSON.stringify(master, null, 2)}\n`],
      [
        beads,
        numbers
          .map(
            id =>
              `${JSON.stringify({ id: `bd-${id}`, title: `t${id}`, status: 'open', dependencies: id === 1 ? undefined : [{ issue_id: `bd-${id}`, depends_on_id: `bd-${id - 1}`, type: 'blocks' }] })}\n`,
          )
          .join(''),
      ],
      [specKit, `# Tasks: x\n\n${numbers.map(id => `- [ ] T${String(id).padStart(4, '0')} do ${id}\n`).join('')}`],
    ] as const
    for (const [dialect, text] of texts) {
      const spent = cpuMs(() => expect(print(dialect, read(dialect, text)).text).toBe(text), 6_000)
      expect(spent, dialect.name).toBeLessThan(6_000)
    }
  })
})
