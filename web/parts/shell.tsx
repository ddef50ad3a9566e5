// The frame of every page: rail, dock, palette, messages, and sign-in.

import { useQuery } from '@tanstack/react-query'
import { Link, Outlet } from '@tanstack/react-router'
import { Command, FolderClosed, Inbox, Plus, Sun } from 'lucide-react'
import { lazy, Suspense, useEffect, useState } from 'react'
import { Problem } from '../data/api.ts'
import { live, useConnection } from '../data/live.ts'
import { identity, queryClient, useInbox } from '../data/queries.ts'
import { Button } from './button.tsx'
import { withKey } from './command.tsx'
import { Empty, Trouble } from './states.tsx'
import { turnTheme } from './theme.ts'
import { Toasts } from './toasts.tsx'

const Palette = lazy(() => import('./palette.tsx'))

export function Shell() {
  const who = useQuery(identity)
  const connection = useConnection()
  const isOut = (who.error instanceof Problem && who.error.status === 401) || connection.is === 'signed-out'
  const isIn = who.data !== undefined
  useEffect(() => {
    if (isIn) live.open()
  }, [isIn])
  if (isOut) return <SignIn />
  if (who.error !== null && who.data === undefined)
    return (
      <main>
        <Empty title="The server does not respond">
          <Trouble error={who.error} />
          <Button onClick={() => void who.refetch()}>Try again</Button>
        </Empty>
      </main>
    )
  return (
    <>
      <Rail name={who.data?.actor ?? ''} />
      <Outlet />
      <Dock />
      <Toasts />
      <PaletteDoor />
    </>
  )
}

function Rail({ name }: { readonly name: string }) {
  const waiting = useInbox().data?.length ?? 0
  return (
    <nav className="rail" aria-label="Main">
      <Link to="/" className="logo" aria-label="Planfold, plans">
        <Logo size={22} />
      </Link>
      <Link to="/" activeOptions={{ exact: true }} aria-label="Plans" title="Plans">
        <FolderClosed size={17} aria-hidden="true" />
      </Link>
      <Link to="/inbox" aria-label={`Inbox, ${waiting} waiting`} title="Inbox">
        <Inbox size={17} aria-hidden="true" />
        {waiting > 0 && <span className="badge">{waiting > 99 ? '99+' : waiting}</span>}
      </Link>
      <Link to="/new" aria-label="New plan" title="New plan">
        <Plus size={18} aria-hidden="true" />
      </Link>
      <span className="space" />
      <button type="button" aria-label="Commands" title={`Search or run (${withKey('K')})`} onClick={openPalette}>
        <Command size={16} aria-hidden="true" />
      </button>
      <button type="button" aria-label="Light or dark theme" title="Light or dark theme (t)" onClick={turnTheme}>
        <Sun size={17} aria-hidden="true" />
      </button>
      <span className="me" title={name} role="img" aria-label={`Signed in as ${name}`}>
        {(name[0] ?? '?').toUpperCase()}
      </span>
    </nav>
  )
}

const Logo = ({ size }: { readonly size: number }) => (
  <svg width={size} height={size} viewBox="0 0 24 24" fill="currentColor" aria-hidden="true">
    <path d="M3 6.2 10.4 3v18L3 17.8z" opacity=".5" />
    <path d="M12 3l8 4v6.4L12 17.6z" />
  </svg>
)

function Dock() {
  const waiting = useInbox().data?.length ?? 0
  return (
    <nav className="dock" aria-label="Main, small">
      <Link to="/" activeOptions={{ exact: true }}>
        <FolderClosed size={19} aria-hidden="true" />
        Plans
      </Link>
      <Link to="/inbox">
        <Inbox size={19} aria-hidden="true" />
        {waiting > 0 && <span className="badge">{waiting}</span>}
        Inbox
      </Link>
      <Link to="/new">
        <Plus size={19} aria-hidden="true" />
        New
      </Link>
      <button type="button" onClick={openPalette}>
        <Command size={19} aria-hidden="true" />
        Commands
      </button>
    </nav>
  )
}

export const openPalette = (): void => void dispatchEvent(new Event('planfold-palette'))

/** Loads the palette on first use. Global keyboard shortcuts are here. */
function PaletteDoor() {
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    const open = (): void => setOpen(true)
    const key = (event: KeyboardEvent): void => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault()
        setOpen(true)
      } else if (event.key === 't' && isPlain(event)) turnTheme()
      else if (event.key === '?' && isPlain(event)) setOpen(true)
    }
    addEventListener('planfold-palette', open)
    addEventListener('keydown', key)
    return () => {
      removeEventListener('planfold-palette', open)
      removeEventListener('keydown', key)
    }
  }, [])
  if (!isOpen) return null
  return (
    <Suspense fallback={null}>
      <Palette onClose={() => setOpen(false)} />
    </Suspense>
  )
}

/** A key without modifiers, outside of text fields and dialogs. */
export function isPlain(event: KeyboardEvent): boolean {
  if (event.metaKey || event.ctrlKey || event.altKey) return false
  const { target } = event
  if (document.querySelector('dialog[open]') !== null) return false
  return !(
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  )
}

function SignIn() {
  const refused = sessionStorage.getItem('planfold-refused')
  useEffect(() => {
    const again = setInterval(() => {
      void queryClient.refetchQueries({ queryKey: ['identity'] }).then(() => live.say({ say: 'reconnect' }))
    }, 5_000)
    return () => clearInterval(again)
  }, [])
  return (
    <main>
      <Empty title="Not signed in" sign={<Logo size={44} />}>
        {refused !== null && <p>{refused}</p>}
        <p>
          Open the link that <code>planfold serve</code> printed, or make a new one:
        </p>
        <code className="code">planfold serve token link</code>
      </Empty>
    </main>
  )
}
