// What can be done with one task: run it again, or continue without it.

import { RotateCcw, SkipForward } from 'lucide-react'
import { orderTask } from '../data/api.ts'
import type { TaskDetail } from '../data/live-messages.ts'
import { useRights } from '../data/queries.ts'
import { OrderButton } from '../parts/button.tsx'
import { useConfirm } from '../parts/confirm.tsx'
import { attempt } from '../parts/toasts.tsx'

export function TaskVerbs({ plan, detail }: { readonly plan: string; readonly detail: TaskDetail }) {
  const { operate } = useRights()
  const [confirm, dialog] = useConfirm()
  const { name, status } = detail.view
  if (!operate) return null
  const retry = async (): Promise<void> => {
    const confirmed = await confirm({
      title: `Run ${name} again?`,
      text: 'This task and the tasks that need it run again. Other tasks are kept.',
      yes: 'Retry',
    })
    if (confirmed !== null) await attempt(() => orderTask(plan, name, 'retry'), `${name} runs again`)
  }
  const skip = async (): Promise<void> => {
    const confirmed = await confirm({
      title: `Skip ${name}?`,
      text: 'Tasks that need it continue without it.',
      yes: 'Skip',
      reason: 'Why',
      isReasonNeeded: true,
    })
    if (confirmed !== null)
      await attempt(() => orderTask(plan, name, 'skip', { reason: confirmed.reason }), `${name} is skipped`)
  }
  const mayRetry = ['completed', 'failed', 'skipped', 'cancelled', 'abandoned'].includes(status)
  const maySkip = ['pending', 'ready', 'failed', 'blocked', 'waiting'].includes(status)
  return (
    <>
      {maySkip && (
        <OrderButton kind="small" icon={SkipForward} onClick={() => void skip()}>
          Skip
        </OrderButton>
      )}
      {mayRetry && (
        <OrderButton kind="small" icon={RotateCcw} onClick={() => void retry()}>
          Retry
        </OrderButton>
      )}
      {dialog}
    </>
  )
}
