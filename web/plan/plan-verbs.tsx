// Actions on a whole plan: start, pause, resume, cancel.

import {
  Ban,
  Copy,
  Ellipsis,
  FlagTriangleRight,
  type LucideIcon,
  MessageSquareText,
  Pause,
  PencilLine,
  Play,
} from 'lucide-react'
import { lazy, Suspense, useId, useRef, useState } from 'react'
import { order, orderPlan, revise } from '../data/api.ts'
import { type LivePlan, useConnection } from '../data/live.ts'
import { useRights } from '../data/queries.ts'
import { OrderButton } from '../parts/button.tsx'
import { commandOf, copyCommand } from '../parts/command.tsx'
import { useConfirm } from '../parts/confirm.tsx'
import { attempt, toast } from '../parts/toasts.tsx'

const EditPlan = lazy(() => import('./edit-plan.tsx'))

const Redraft = lazy(() => import('./redraft.tsx'))

export function PlanVerbs({ plan }: { readonly plan: LivePlan }) {
  const { head } = plan
  const { operate } = useRights()
  const menu = useId()
  const popover = useRef<HTMLDivElement>(null)
  const [confirm, dialog] = useConfirm()
  const { name, status } = head
  const [isEditing, setEditing] = useState(false)
  const [isCommenting, setCommenting] = useState(false)
  const isOpen = status === 'active' || status === 'blocked'
  const cancel = async (): Promise<void> => {
    const confirmed = await confirm({
      title: `Cancel ${name}?`,
      text: 'The plan ends and cannot be resumed. The undo steps of its tasks run.',
      yes: 'Cancel the plan',
      isDanger: true,
      reason: 'Why (optional)',
    })
    if (confirmed !== null)
      await attempt(
        () => orderPlan(name, 'cancel', confirmed.reason === '' ? {} : { reason: confirmed.reason }),
        `${name} is cancelled`,
      )
  }
  const checkpoint = async (): Promise<void> => {
    const confirmed = await confirm({
      title: 'Take a checkpoint',
      text: 'Stores all files, so that you can roll back to this point.',
      yes: 'Take it',
      reason: 'Name (optional)',
    })
    if (confirmed !== null)
      await attempt(
        () =>
          order(name, { type: 'checkpoint', ...(confirmed.reason === '' ? {} : { name: confirmed.reason }) } as never),
        'Checkpoint taken',
      )
  }
  const isStopped = status === 'failed'
  // If an agent could do it, that is the primary button.
  const isLeft = status === 'draft' && plan.tasks.some(({ action }) => action === 'external')
  return (
    <>
      {operate && (status === 'draft' || isStopped) && (
        <Verb
          icon={Play}
          word={isStopped ? 'Resume' : 'Run'}
          kind={isLeft ? '' : 'main'}
          onClick={() => void attempt(() => orderPlan(name, 'execute'))}
        />
      )}
      {operate && status === 'draft' && (
        <Verb icon={PencilLine} word="Edit" kind="wide" onClick={() => setEditing(true)} />
      )}
      {operate && status === 'draft' && head.goal !== null && (
        <Verb icon={MessageSquareText} word="Comment" onClick={() => setCommenting(true)} />
      )}
      {operate && status === 'paused' && (
        <Verb icon={Play} word="Resume" kind="main" onClick={() => void attempt(() => orderPlan(name, 'resume'))} />
      )}
      {operate && isOpen && (
        <Verb icon={Pause} word="Pause" onClick={() => void attempt(() => orderPlan(name, 'pause'))} />
      )}
      <button type="button" className="icon-button" aria-label="More" popoverTarget={menu}>
        <Ellipsis size={16} aria-hidden="true" />
      </button>
      {/* biome-ignore lint/a11y/noStaticElementInteractions lint/a11y/useKeyWithClickEvents: its buttons are clicked, also by keys. */}
      <div
        id={menu}
        ref={popover}
        popover="auto"
        className="menu under-right"
        onClick={() => popover.current?.hidePopover()}
      >
        <Item icon={Copy} word="Copy command" onClick={() => copyCommand(commandOf('status', name))} />
        {operate && (
          <>
            {status !== 'completed' && status !== 'cancelled' && (
              <Item icon={PencilLine} word="Edit the plan" isOrder onClick={() => setEditing(true)} />
            )}
            <Item icon={FlagTriangleRight} word="Take a checkpoint" isOrder onClick={() => void checkpoint()} />
            {(isOpen || status === 'paused' || status === 'draft') && (
              <>
                <hr />
                <Item icon={Ban} word="Cancel the plan" className="danger" isOrder onClick={() => void cancel()} />
              </>
            )}
          </>
        )}
      </div>
      {dialog}
      {isCommenting && (
        <Suspense fallback={null}>
          <Redraft plan={plan} onClose={() => setCommenting(false)} />
        </Suspense>
      )}
      {isEditing && (
        <Suspense fallback={null}>
          <EditPlan
            plan={name}
            revision={head.revision}
            title={`Edit ${name}`}
            yes={status === 'draft' ? 'Keep it' : 'Save as the next revision'}
            onClose={() => setEditing(false)}
            onDone={async text => {
              await revise(name, text, 'edited on the page', head.revision)
              toast('Plan saved')
            }}
          />
        </Suspense>
      )}
    </>
  )
}

interface ActionProps {
  readonly icon: LucideIcon
  readonly word: string
  readonly onClick: () => void
}

const Verb = ({ word, ...more }: ActionProps & { readonly kind?: string }) => (
  <OrderButton aria-label={word} {...more}>
    <span>{word}</span>
  </OrderButton>
)

/** `isOrder`: it changes something. */
function Item({
  icon: Icon,
  word,
  isOrder = false,
  ...more
}: ActionProps & { readonly className?: string; readonly isOrder?: boolean }) {
  const isAway = useConnection().is === 'away'
  return (
    <button type="button" disabled={isOrder && isAway} {...more}>
      <Icon size={15} aria-hidden="true" />
      {word}
    </button>
  )
}
