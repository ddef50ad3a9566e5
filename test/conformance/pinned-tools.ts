// The MCP inspector and the conformance suite, as `tools/package-lock.json` pins them. They need Node 24: the one that runs this, or
// the one that is pinned beside them.

import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = join(import.meta.dirname, 'tools')
const NODE_MIN = 24

const CONFORMANCE = '@modelcontextprotocol/conformance'
const INSPECTOR = '@modelcontextprotocol/inspector'

export interface Tools {
  /** `@modelcontextprotocol/…` and its version, for people. */
  readonly names: { readonly conformance: string; readonly inspector: string }
  /** The scenarios each protocol version requires, a file for each. */
  readonly requirements: string
  conformance(argv: readonly string[], home: string): Promise<Ended>
  inspector(argv: readonly string[], home: string): Promise<Ended>
}

export interface Ended {
  readonly exit: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Installs them where they are missing, or are not those of the lock. */
export async function openTools(): Promise<Tools> {
  if (!isInstalled()) {
    console.log('Installing the inspector and the conformance suite …')
    const { exit, stderr } = await run('npm', ['ci', '--ignore-scripts'], { cwd: FOLDER, env: process.env })
    if (exit !== 0) throw new Error(`npm ci in test/conformance/tools failed:\n${stderr}`)
  }
  const node = nodePath()
  const start =
    (file: string): Tools['inspector'] =>
    (argv, home) =>
      run(node, [join(FOLDER, 'node_modules', file), ...argv], {
        cwd: home,
        env: { PATH: process.env.PATH, HOME: home, TZ: 'UTC', LANG: 'C.UTF-8' },
      })
  return {
    names: { conformance: nameOf(CONFORMANCE), inspector: nameOf(INSPECTOR) },
    requirements: join(FOLDER, 'node_modules', CONFORMANCE, 'requirements'),
    conformance: start(`${CONFORMANCE}/dist/index.js`),
    inspector: start(`${INSPECTOR}/clients/launcher/build/index.js`),
  }
}

const nameOf = (tool: string): string => `${tool} ${wanted()[tool]}`

function wanted(): { readonly [tool: string]: string } {
  return JSON.parse(readFileSync(join(FOLDER, 'package.json'), 'utf8')).dependencies
}

function isInstalled(): boolean {
  // npm writes it last.
  if (!existsSync(join(FOLDER, 'node_modules/.package-lock.json'))) return false
  return Object.entries(wanted()).every(([tool, version]) => {
    const file = join(FOLDER, 'node_modules', tool, 'package.json')
    return existsSync(file) && JSON.parse(readFileSync(file, 'utf8')).version === version
  })
}

function nodePath(): string {
  if (Number.parseInt(process.versions.node, 10) >= NODE_MIN) return process.execPath
  const path = join(FOLDER, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin/node')
  if (existsSync(path)) return path
  throw new Error(`no Node ${NODE_MIN} is pinned for ${process.platform} on ${process.arch}: run this with Node 24`)
}

function run(
  program: string,
  argv: readonly string[],
  { cwd, env }: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, argv, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
    const said = { stdout: '', stderr: '' }
    for (const stream of ['stdout', 'stderr'] as const)
      child[stream].setEncoding('utf8').on('data', (text: string) => {
        said[stream] += text
      })
    child.once('error', reject)
    child.once('close', exit => resolve({ exit, ...said }))
  })
}
