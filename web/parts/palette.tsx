// The command palette: search plans and tasks and run any action, with the equivalent terminal command.

import '../styles/palette.css'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { Copy } from 'lucide-react'
import { useEffect, useMemo, useRef, useState } from 'react'
import { type InboxEntry, orderPlan, orderTask } from '../data/api.ts'
import { live, useConnection } from '../data/live.ts'
import { inbox, plans } from '../data/queries.ts'
import { shownText } from '../data/shown.ts'
import { Button, Dialog } from './button.tsx'
import { commandOf, copyCommand, withKey } from './command.tsx'
import { Glyph, type Sign, signOf, signOfState } from './glyph.tsx'
import { turnTheme } from './theme.ts'
import { attempt } from './toasts.tsx'

interface Item {
  readonly id: string
  readonly text: string
  readonly more?: string
  readonly sign?: Sign
  readonly command?: string
  /** It changes something, so it is off while the service is away. */
  readonly isOrder?: true
  readonly run: () => void
}

const SHOWN_MAX = 60

export default function Palette({ onClose }: { readonly onClose: () => void }) {
  const list = useRef<HTMLDivElement>(null)
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const items = useItems()
  const isAway = useConnection().is === 'away'
  const found = useMemo(() => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean)
    return items
      .filter(item =>
        words.every(word => `${item.text} ${item.more ?? ''} ${item.command ?? ''}`.toLowerCase().includes(word)),
      )
      .slice(0, SHOWN_MAX)
  }, [items, text])
  const chosen = found[Math.min(at, found.length - 1)]
  // biome-ignore lint/correctness/useExhaustiveDependencies: whenever another one is chosen.
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' })
  }, [at])
  const run = (item: Item | undefined): void => {
    if (item === undefined || (isAway && item.isOrder === true)) return
    onClose()
    item.run()
  }
  const copy = (item: Item | undefined): void => {
    if (item?.command === undefined) return
    copyCommand(item.command)
    onClose()
  }
  return (
    <Dialog className="palette" aria-label="Search or run" onClose={onClose}>
      <input
        className="palette-field"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={chosen === undefined ? undefined : `palette-${chosen.id}`}
        aria-label="Search or run"
        placeholder="Search plans and tasks, or run a command"
        autoFocus
        value={text}
        onChange={event => {
          setText(event.target.value)
          setAt(0)
        }}
        onKeyDown={event => {
          if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
            event.preventDefault()
            setAt(Math.max(0, Math.min(found.length - 1, at + (event.key === 'ArrowDown' ? 1 : -1))))
          } else if (event.key === 'Enter') {
            event.preventDefault()
            if (event.metaKey || event.ctrlKey) copy(chosen)
            else run(chosen)
          }
        }}
      />
      <div ref={list} id="palette-list" role="listbox" aria-label="Found">
        {found.map(item => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: keys go to the field, as in every combobox.
          // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus.
          <div
            key={item.id}
            id={`palette-${item.id}`}
            role="option"
            aria-selected={item === chosen}
            aria-disabled={isAway && item.isOrder === true}
            onClick={() => run(item)}
            onMouseMove={() => setAt(found.indexOf(item))}
          >
            {item.sign === undefined ? <span className="palette-dot" /> : <Glyph sign={item.sign} />}
            <span className="palette-text">{item.text}</span>
            {item.more !== undefined && <span className="dim">{item.more}</span>}
            <span className="space" />
            {item.command !== undefined && <code>{shownText(item.command)}</code>}
          </div>
        ))}
        {found.length === 0 && <p className="palette-none">No results</p>}
      </div>
      <footer>
        <span>
          <kbd>↵</kbd> do it
        </span>
        <span>
          <kbd>{withKey('↵')}</kbd> copy the command
        </span>
        <span className="space" />
        <Button kind="small" icon={Copy} disabled={chosen?.command === undefined} onClick={() => copy(chosen)}>
          Copy
        </Button>
      </footer>
    </Dialog>
  )
}

/** The command that answers it, or a list of possible ones if the page cannot know. */
function answerCommand({ id, name, task, asks }: InboxEntry): string {
  const word = ANSWERED_BY[asks.type]
  return task === null || word === undefined ? commandOf('inbox', 'answer', id) : commandOf(word, name, task)
}

const ANSWERED_BY: { readonly [asks: string]: string } = {
  approval: 'approve',
  consent: 'approve',
  verdict: 'approve',
  decision: 'answer',
  question: 'answer',
}

function useItems(): readonly Item[] {
  const navigate = useNavigate()
  const { plan: name } = useParams({ strict: false })
  const all = useQuery(plans).data?.rows
  const waiting = useQuery(inbox).data
  return useMemo(() => {
    const go =
      (to: string, search: object = {}) =>
      () =>
        void navigate({ to, search } as never)
    const plan = name === undefined ? undefined : live.plans.get(name)
    const here: Item[] = []
    if (name !== undefined && plan !== undefined && plan !== 'missing') {
      const at = `/plans/${encodeURIComponent(name)}`
      const { status } = plan.head
      const verb = (word: string, order: 'execute' | 'pause' | 'resume', command: string): Item => ({
        id: order,
        text: `${word} ${name}`,
        command: commandOf(command, name),
        isOrder: true,
        run: () => void attempt(() => orderPlan(name, order)),
      })
      if (status === 'failed') {
        for (const task of plan.tasks)
          if (task.status === 'failed')
            here.push({
              id: `retry-${task.name}`,
              text: `Retry ${task.name}`,
              sign: signOf(task),
              command: commandOf('retry', name, task.name),
              isOrder: true,
              run: () => void attempt(() => orderTask(name, task.name, 'retry'), `${task.name} runs again`),
            })
        here.push(verb('Resume', 'execute', 'resume'))
      }
      if (status === 'draft') here.push(verb('Run', 'execute', 'resume'))
      if (status === 'active' || status === 'blocked') here.push(verb('Pause', 'pause', 'pause'))
      if (status === 'paused') here.push(verb('Resume', 'resume', 'resume'))
      for (const [view, command] of [
        ['graph', commandOf('graph', name)],
        ['board', commandOf('show', name)],
        ['outline', commandOf('status', name)],
        ['checkpoints', commandOf('checkpoint', 'list', name)],
        ['history', commandOf('log', name)],
      ] as const)
        here.push({ id: `view-${view}`, text: `Show the ${view}`, command, run: go(at, { view }) })
      here.push({
        id: 'cancel',
        text: `Cancel ${name}`,
        more: 'by the menu of the plan',
        command: commandOf('cancel', name),
        run: go(at),
      })
      for (const task of plan.tasks)
        here.push({
          id: `task-${task.name}`,
          text: task.name,
          more: task.title ?? '',
          sign: signOf(task),
          command: commandOf('show', name, task.name),
          run: go(at, { task: task.name }),
        })
    }
    return [
      ...(waiting ?? []).map(item => ({
        id: `ask-${item.id}`,
        text: `Review ${item.task ?? item.name}`,
        more: item.name,
        sign: 'waiting' as const,
        command: answerCommand(item),
        run: go(`/inbox/${item.id}`),
      })),
      ...here,
      { id: 'plans', text: 'All plans', command: 'planfold list', run: go('/') },
      { id: 'inbox', text: 'Inbox', command: 'planfold inbox', run: go('/inbox') },
      {
        id: 'goal',
        text: 'New plan from a goal',
        command: commandOf('plan', 'the goal'),
        run: go('/new', { from: 'goal' }),
      },
      {
        id: 'template',
        text: 'New plan from a template',
        command: 'planfold template list',
        run: go('/new', { from: 'template' }),
      },
      { id: 'text', text: 'New plan from text', command: 'planfold run plan.yaml', run: go('/new', { from: 'text' }) },
      { id: 'theme', text: 'Light or dark theme', run: turnTheme },
      { id: 'api', text: 'The API', run: () => void open('/docs') },
      ...(all ?? []).map(row => ({
        id: `plan-${row.id}`,
        text: row.name as string,
        more: row.title ?? row.goal ?? '',
        sign: signOfState(row.seen),
        command: commandOf('status', row.name),
        run: go(`/plans/${encodeURIComponent(row.name)}`),
      })),
    ]
  }, [all, waiting, name, navigate])
}
