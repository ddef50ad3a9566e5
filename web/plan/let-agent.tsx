// Starts a coding agent on unclaimed tasks: a button with the preferred agent, and a menu of the other installed ones.

import { useQuery } from '@tanstack/react-query'
import { Bot } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import type { PlanDefinition } from '../../src/domain/plan.ts'
import { mayWork } from '../../src/domain/plan-rules/agent-request.ts'
import { criterionText } from '../../src/domain/plan-rules/criterion-text.ts'
import { allTasks } from '../../src/domain/state/task-index.ts'
import { spelled } from '../../src/domain/views/pages/foreign-text.ts'
import { taskFacts } from '../../src/domain/views/pages/task-facts.ts'
import { orderPlan, planDefinition, setWorker } from '../data/api.ts'
import type { LivePlan } from '../data/live.ts'
import type { TaskView } from '../data/live-messages.ts'
import { agents, queryClient, useRights } from '../data/queries.ts'
import { visible } from '../parts/argv.tsx'
import { OrderButton } from '../parts/button.tsx'
import { useConfirm } from '../parts/confirm.tsx'
import { attempt, toast } from '../parts/toasts.tsx'
import { count } from '../parts/words.ts'

/** Tasks to claim: in a draft all; later, if one of them is ready, those that are or will be. */
function openTasks({ head: { status }, tasks }: LivePlan): readonly TaskView[] {
  const free = tasks.filter(task => task.action === 'external' && task.by === null)
  if (status === 'draft') return free
  const isOpen = status === 'active' || status === 'blocked'
  return isOpen && free.some(task => task.status === 'ready')
    ? free.filter(({ status }) => status === 'ready' || status === 'pending')
    : []
}

/** `task`: only this one; null: all, in a strip that lists them. Also starts a draft. */
export function LetAgent({ plan, task }: { readonly plan: LivePlan; readonly task: string | null }) {
  const { operate } = useRights()
  const { data } = useQuery(agents)
  const [confirm, dialog] = useConfirm()
  const [wanted, setWanted] = useState<string | null>(null)
  const installed = data?.items.filter(one => one.installed) ?? []
  const able = installed.filter(one => !one.needs_model)
  const agent =
    able.find(({ name }) => name === (wanted ?? data?.preferred)) ??
    able.find(({ passed_at }) => passed_at !== null) ??
    able[0]
  const tasks = openTasks(plan).filter(
    one => (task === null || one.name === task) && mayWork(one, agent?.name ?? 'nobody'),
  )
  if (!operate || tasks.length === 0) return null
  const strip = (control: ReactNode): ReactNode =>
    task !== null ? (
      control
    ) : (
      <section className="strip work" aria-label="Waiting to be claimed">
        <Bot size={18} aria-hidden="true" />
        <div className="strip-what">
          <b>{count(tasks.length, 'task')}</b>
          <span>for an agent or a person: {tasks.map(({ name }) => name).join(', ')}</span>
        </div>
        <span className="space" />
        {control}
      </section>
    )
  if (data === undefined) return strip(null)
  if (agent === undefined)
    return strip(
      <p className="dim">
        {installed.length === 0 ? (
          <>
            No coding agent is installed here. Get one, for example with{' '}
            <code className="code">npm install -g {data.items.find(({ install }) => install !== null)?.install}</code>
          </>
        ) : (
          <>
            {installed.map(({ title }) => title).join(', ')}: no model is set. Set{' '}
            <code className="code">PLANFOLD_MODEL</code>, or <code className="code">default:</code> in your settings,
            and restart the service
          </>
        )}
      </p>,
    )
  const { name, status, draft } = plan.head
  const isDraft = status === 'draft'
  const go = async (): Promise<void> => {
    const definition = await planDefinition(name).catch(() => null)
    if (definition === null) return toast('The plan could not be read', { isBad: true })
    const names = new Set(tasks.map(one => one.name))
    const confirmed = await confirm({
      title: `Let ${agent.title} do ${task ?? 'it'}?`,
      text: <Works definition={definition} names={names} agent={agent.title} runs={draft?.runs ?? []} />,
      yes: isDraft ? 'Start' : 'Let it work',
    })
    if (confirmed === null) return
    await attempt(
      async () => {
        await setWorker(name, agent.name, task)
        void queryClient.invalidateQueries({ queryKey: ['agents'] })
        if (isDraft) await orderPlan(name, 'execute')
      },
      `${agent.title} works ${task ?? name}`,
    )
  }
  return strip(
    <div className="let-agent">
      <OrderButton kind="main" onClick={() => void go()}>
        Let {agent.title} do it
      </OrderButton>
      {installed.length > 1 && (
        <select
          className="button"
          aria-label="Another agent"
          title="Another agent"
          value={agent.name}
          onChange={event => setWanted(event.target.value)}
        >
          {installed.map(({ name, title, version, passed_at, needs_model }) => (
            <option key={name} value={name} disabled={needs_model}>
              {title} {version ?? ''} {needs_model ? 'has no model' : passed_at === null ? '' : '✓ tested'}
            </option>
          ))}
        </select>
      )}
      {dialog}
    </div>,
  )
}

/** What a person agrees to: which agent, where it may write, how the work is checked, and what else runs. */
function Works({
  definition,
  names,
  agent,
  runs,
}: Readonly<{ definition: PlanDefinition; names: ReadonlySet<string>; agent: string; runs: readonly string[] }>) {
  const tasks = allTasks(definition).filter(({ id }) => names.has(id))
  const shown = new Set(
    tasks.flatMap(({ id, accept = [] }) => accept.map(one => `${id}: ${spelled(criterionText(one))}`)),
  )
  const others = runs.filter(line => !shown.has(line))
  return (
    <div className="let-agent-works">
      <p>It works in the sandbox; the checks of each task decide whether it is done, and you review the change.</p>
      <ul>
        {tasks.map(task => {
          const [action, ...limits] = taskFacts(definition, task, agent).map(visible)
          return (
            <li key={task.id}>
              <b className="mono">{task.id}</b> {action}
              <small>{limits.join(' · ')}</small>
            </li>
          )
        })}
      </ul>
      {others.length > 0 && (
        <>
          <p>These commands run, too:</p>
          <ul>
            {others.map(line => (
              <li key={line}>
                <code>{visible(line)}</code>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  )
}
