// A real Chromium: the one that PLANFOLD_CHROMIUM names, that of the system, or the one in @sparticuz/chromium. Where none can be
// started, `browserOrReason` says why, and whoever asks skips.

import { existsSync } from 'node:fs'
import { type Browser, chromium, type Page } from 'playwright-core'

const SYSTEM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
/** Without what slows a machine that has no display; as root there is no sandbox. */
const ARGS = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-zygote', '--font-render-hinting=none']

export async function browserOrReason(): Promise<Browser | string> {
  try {
    return await chromium.launch({ executablePath: await findChromium(), args: ARGS })
  } catch (error) {
    return `no browser could be started: ${error instanceof Error ? error.message.split('\n')[0] : String(error)}`
  }
}

async function findChromium(): Promise<string> {
  const named = process.env.PLANFOLD_CHROMIUM
  const found = named ?? SYSTEM.find(path => existsSync(path))
  if (found !== undefined) return found
  const { default: packed } = await import('@sparticuz/chromium')
  return await packed.executablePath()
}

/** Whatever the page complains of: errors, refusals of its policy, dialogs, requests to other hosts. */
export function complaintsOf(page: Page, address: string): string[] {
  const complaints: string[] = []
  page.on('pageerror', error => complaints.push(`error: ${error.message}`))
  page.on('console', message => {
    // A browser writes this for every answer that is not 2xx, and for a service that is away.
    if (message.type() === 'error' && !/Failed to load resource|ERR_/.test(message.text()))
      complaints.push(message.text())
  })
  page.on('dialog', dialog => {
    complaints.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', request => {
    const url = request.url()
    if (!url.startsWith(address) && !url.startsWith('data:')) complaints.push(`request: ${url}`)
  })
  return complaints
}
