// Actions on a whole plan: start, pause, resume, cancel.

import { Ban, Copy, Ellipsis, FlagTriangleRight, MessageSquareText, Pause, PencilLine, Play } from 'lucide-react'
import { lazy, Suspense, useId, useRef, useState } from 'react'
import { order, orderPlan, revise } from '../data/api.ts'
import { type LivePlan, useConnection } from '../data/live.ts'
import { useRights } from '../data/queries.ts'
import { commandOf, copyCommand } from '../parts/command.tsx'
import { useConfirm } from '../parts/confirm.tsx'
import { attempt, toast } from '../parts/toasts.tsx'

const EditPlan = lazy(() => import('./edit-plan.tsx'))

const Redraft = lazy(() => import('./redraft.tsx'))

export function PlanVerbs({ plan }: { readonly plan: LivePlan }) {
  const { head } = plan
  const { operate } = useRights()
  const isAway = useConnection().is === 'away'
  const menu = useId()
  const popover = useRef<HTMLDivElement>(null)
  const [confirm, dialog] = useConfirm()
  const { name, status } = head
  const [isEditing, setEditing] = useState(false)
  const [isCommenting, setCommenting] = useState(false)
  const isOpen = status === 'active' || status === 'blocked'
  const close = (): void => popover.current?.hidePopover()
  const cancel = async (): Promise<void> => {
    close()
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
    close()
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
        <button
          type="button"
          className={isLeft ? 'button' : 'button main'}
          aria-label={isStopped ? 'Resume' : 'Run'}
          disabled={isAway}
          onClick={() => void attempt(() => orderPlan(name, 'execute'))}
        >
          <Play size={14} aria-hidden="true" />
          <span>{isStopped ? 'Resume' : 'Run'}</span>
        </button>
      )}
      {operate && status === 'draft' && (
        <button type="button" className="button wide" disabled={isAway} onClick={() => setEditing(true)}>
          <PencilLine size={14} aria-hidden="true" />
          <span>Edit</span>
        </button>
      )}
      {operate && status === 'draft' && head.goal !== null && (
        <button type="button" className="button" disabled={isAway} onClick={() => setCommenting(true)}>
          <MessageSquareText size={14} aria-hidden="true" />
          <span>Comment</span>
        </button>
      )}
      {operate && status === 'paused' && (
        <button
          type="button"
          className="button main"
          aria-label="Resume"
          disabled={isAway}
          onClick={() => void attempt(() => orderPlan(name, 'resume'))}
        >
          <Play size={14} aria-hidden="true" />
          <span>Resume</span>
        </button>
      )}
      {operate && isOpen && (
        <button
          type="button"
          className="button"
          aria-label="Pause"
          disabled={isAway}
          onClick={() => void attempt(() => orderPlan(name, 'pause'))}
        >
          <Pause size={14} aria-hidden="true" />
          <span>Pause</span>
        </button>
      )}
      <button type="button" className="icon-button" aria-label="More" popoverTarget={menu}>
        <Ellipsis size={16} aria-hidden="true" />
      </button>
      <div id={menu} ref={popover} popover="auto" className="menu under-right">
        <button
          type="button"
          onClick={() => {
            close()
            copyCommand(commandOf('status', name))
          }}
        >
          <Copy size={15} aria-hidden="true" />
          Copy command
        </button>
        {operate && (
          <>
            {status !== 'completed' && status !== 'cancelled' && (
              <button
                type="button"
                onClick={() => {
                  close()
                  setEditing(true)
                }}
              >
                <PencilLine size={15} aria-hidden="true" />
                Edit the plan
              </button>
            )}
            <button type="button" onClick={() => void checkpoint()}>
              <FlagTriangleRight size={15} aria-hidden="true" />
              Take a checkpoint
            </button>
            {(isOpen || status === 'paused' || status === 'draft') && (
              <>
                <hr />
                <button type="button" className="danger" onClick={() => void cancel()}>
                  <Ban size={15} aria-hidden="true" />
                  Cancel the plan
                </button>
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
