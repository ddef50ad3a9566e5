// The checkpoints of a plan: what differs from now, a preview of the rollback file by file, and undoing a rollback.

import '../styles/checkpoints.css'
import { useQuery } from '@tanstack/react-query'
import { FlagTriangleRight, Undo2 } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { diffCheckpoints, listCheckpoints, previewRollback, previewUndo } from '../data/api.ts'
import type { LivePlan } from '../data/live.ts'
import { useRights } from '../data/queries.ts'
import { Button, OrderButton } from '../parts/button.tsx'
import { useNow } from '../parts/clock.ts'
import { EntryLink } from '../parts/entry-link.tsx'
import { Empty, Skeleton, Trouble } from '../parts/states.tsx'
import { ago, count, dateOf, dayOf, timeOf } from '../parts/words.ts'
import { type Back, BackDialog } from './back-dialog.tsx'

type Checkpoint = NonNullable<Awaited<ReturnType<typeof listCheckpoints>>>[number]

/** As a person would say it; the name that commands take is in the tooltip. */
function titleOf({ why, task, name }: Checkpoint): string {
  switch (why) {
    case 'after':
      return `After ${task}`
    case 'risky':
      return `Before ${task ?? 'a risky task'}`
    case 'every':
      return 'At the interval'
    case 'ended':
      return 'At the end of the plan'
    default:
      return name
  }
}

const WHY: { readonly [why: string]: string } = {
  asked: 'taken by hand',
  task: 'taken by a task',
  risky: 'before a risky task',
}

/** Before the first task. */
const START = 'start'

export default function Checkpoints({ plan }: { readonly plan: LivePlan }) {
  const { id, name, version } = plan.head
  const { operate } = useRights()
  const { data, error } = useQuery({
    queryKey: ['checkpoints', id, version],
    queryFn: () => listCheckpoints(id),
    placeholderData: before => before,
  })
  // Only a rollback that can be undone offers undo.
  const undo = useQuery({
    queryKey: ['rollback', id, 'undo', version],
    queryFn: () => previewUndo(id),
    enabled: operate,
    placeholderData: before => before,
  }).data
  const [open, setOpen] = useState<string | null>(null)
  const [back, setBack] = useState<Back | null>(null)
  if (error !== null) return <Trouble error={error} />
  if (data === undefined) return <Skeleton height={120} />
  const { startedAt } = plan.head
  if (data === null || (data.length === 0 && startedAt === null))
    return (
      <Empty title="No checkpoints yet" sign={<FlagTriangleRight size={36} strokeWidth={1.4} aria-hidden="true" />}>
        <p>Checkpoints are taken as tasks complete. You can also take one from the menu above.</p>
        <code className="code">planfold checkpoint {name}</code>
      </Empty>
    )
  return (
    <div className="checkpoints">
      {operate && (
        <div className="checkpoints-acts">
          <p className="dim">
            A rollback reverts files and runs tasks again. You see a preview first, and you can undo it.
          </p>
          <span className="space" />
          {undo?.ok === true && (
            <OrderButton icon={Undo2} onClick={() => setBack({ undo: true })}>
              Undo the last rollback
            </OrderButton>
          )}
        </div>
      )}
      <ul>
        {data.toReversed().map(one => (
          <Row
            key={`${one.name}${one.version}`}
            title={titleOf(one)}
            name={one.name}
            about={WHY[one.why] ?? (one.task === null ? '' : (plan.byName.get(one.task)?.title ?? ''))}
            at={one.at}
            isOpen={open === one.name}
            onOpen={() => setOpen(open === one.name ? null : one.name)}
            onBack={
              operate
                ? () =>
                    setBack({
                      to: one.name,
                      title: `to ${titleOf(one).replace(/^[AB]/, letter => letter.toLowerCase())}`,
                    })
                : null
            }
            difference={<Difference plan={id} from={one.name} version={version} />}
          >
            {one.paths !== null && <span>{count(one.paths, 'file')}</span>}
            <EntryLink plan={name} entry={one.version} />
          </Row>
        ))}
        {startedAt !== null && (
          <Row
            title="Before the first task"
            name="planfold rollback without a checkpoint"
            about="the files as the plan found them"
            at={startedAt}
            isOpen={open === START}
            onOpen={() => setOpen(open === START ? null : START)}
            onBack={operate ? () => setBack({ to: null, title: 'to before the first task' }) : null}
            difference={<Difference plan={id} from={null} version={version} />}
          />
        )}
      </ul>
      {back !== null && <BackDialog plan={id} back={back} version={version} onClose={() => setBack(null)} />}
    </div>
  )
}

function Row({
  title,
  name,
  about,
  at,
  isOpen,
  onOpen,
  onBack,
  difference,
  children,
}: {
  readonly title: string
  readonly name: string
  readonly about: string
  readonly at: number
  readonly isOpen: boolean
  readonly onOpen: () => void
  readonly onBack: (() => void) | null
  readonly difference: ReactNode
  readonly children?: ReactNode
}) {
  const now = useNow()
  return (
    <li>
      <div className="checkpoint">
        <FlagTriangleRight size={15} aria-hidden="true" />
        <b title={name}>{title}</b>
        <span className="checkpoint-about">{about}</span>
        <span className="checkpoint-facts num dim">
          {children}
          <time dateTime={new Date(at).toISOString()} title={dateOf(at)}>
            {dayOf(at) === dayOf(now) ? timeOf(at) : dateOf(at)}
          </time>
          <span>{ago(at, now)}</span>
        </span>
        <Button kind="small" aria-expanded={isOpen} onClick={onOpen}>
          Compare
        </Button>
        {onBack !== null && (
          <OrderButton kind="small" onClick={onBack}>
            Roll back
          </OrderButton>
        )}
      </div>
      {isOpen && difference}
    </li>
  )
}

/** `from`: a checkpoint, or null for the time before the first task. */
function Difference({ plan, from, version }: Readonly<{ plan: string; from: string | null; version: number }>) {
  const { data, error } = useQuery({
    queryKey: ['checkpoint-diff', plan, from, version],
    queryFn: async () => {
      if (from !== null) return await diffCheckpoints(plan, from)
      const start = await previewRollback(plan, null, {})
      return start?.ok === true ? await diffCheckpoints(plan, String(start.to)) : start
    },
  })
  if (error !== null) return <Trouble error={error} />
  if (data === undefined) return <Skeleton height={40} />
  if (data === null || !data.ok)
    return <p className="dim">{data === null ? 'This checkpoint is gone.' : data.refusal.message}</p>
  return (
    <div className="difference">
      <p className="dim">
        {data.changes.length === 0 ? 'No files changed since.' : `${count(data.changes.length, 'file')} changed since`}
        {data.basis === 'written' && data.changes.length > 0 ? '; only what the plan wrote is known' : ''}
      </p>
      <ul className="files">
        {data.changes.slice(0, 200).map(({ path, before, after }) => (
          <li key={path}>
            <code className={before === null ? 'add' : after === null ? 'remove' : ''}>
              {before === null ? '+' : after === null ? '−' : '~'}
            </code>
            <code>{path}</code>
          </li>
        ))}
      </ul>
    </div>
  )
}
