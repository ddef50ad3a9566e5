// A button with an optional icon, and a modal dialog that is open while it is drawn.

import type { LucideIcon } from 'lucide-react'
import { type ComponentProps, useEffect, useRef } from 'react'
import { useConnection } from '../data/live.ts'

interface ButtonProps extends Omit<ComponentProps<'button'>, 'className'> {
  /** Its classes besides `button`: main, danger, quiet, small, wide. */
  readonly kind?: string
  readonly icon?: LucideIcon
}

export const Button = ({ kind = '', icon: Icon, children, ...more }: ButtonProps) => (
  <button type="button" className={`button ${kind}`.trim()} {...more}>
    {Icon !== undefined && <Icon size={kind.includes('small') ? 13 : 14} aria-hidden="true" />}
    {children}
  </button>
)

/** A button that changes something: disabled while the service is away. */
export function OrderButton({ disabled = false, ...more }: ButtonProps) {
  const isAway = useConnection().is === 'away'
  return <Button disabled={disabled || isAway} {...more} />
}

export function Dialog(props: ComponentProps<'dialog'>) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return <dialog ref={dialog} {...props} />
}
