import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { toolchainMounts } from './host-folders.ts'

function setup() {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'planfold-host-')))
  onTestFinished(() => rmSync(base, { recursive: true, force: true }))
  const make = (path: string, mode = 0o644): string => {
    const file = join(base, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, '')
    chmodSync(file, mode)
    return file
  }
  const home = join(base, 'home')
  const root = join(base, 'work/project')
  make('home/.ssh/key')
  make('work/project/readme')
  const shown = (path: readonly string[], more: { home?: string; root?: string; readable?: readonly string[] } = {}) =>
    toolchainMounts({
      path: path.join(':'),
      home: more.home ?? home,
      readable: more.readable ?? [],
      not: [more.root ?? root],
    }).shown
  return { base, home, root, make, shown }
}

test('a folder of programs is seen with what lies beside it', () => {
  const { base, make, shown } = setup()
  make('tools/bin/tool', 0o755)
  make('tools/lib/part')
  expect(shown([join(base, 'tools/bin')])).toEqual([join(base, 'tools/bin'), join(base, 'tools/lib')])
})

test('of a folder that is a home, or around a home or the workspace, only the programs directly in it are seen', () => {
  const { base, home, make, shown } = setup()
  const [one, two, three] = [make('home/one', 0o755), make('two', 0o755), make('work/three', 0o755)]
  make('home/notes')
  make('home/.hidden', 0o755)
  make('work/other/four', 0o755)
  expect(shown([home])).toEqual([one])
  expect(shown([`${home}/`])).toEqual([one])
  expect(shown([base])).toEqual([two])
  expect(shown([join(base, 'work')])).toEqual([three])
  expect(shown([], { readable: [home] })).toEqual([one])
})

test('nor does a link lead to the home', () => {
  const { base, home, make, shown } = setup()
  make('home/one', 0o755)
  const link = join(base, 'link')
  symlinkSync(home, link)
  expect(shown([link], { home: link })).toEqual([join(link, 'one'), join(home, 'one')])
})

test('the folders that every sandbox has of its own stay its own', () => {
  const { shown } = setup()
  for (const folder of ['/', '/tmp', '/dev', '/etc']) expect(shown([folder])).not.toContain(folder)
})

test('a toolchain is seen as a whole, also around the workspace', () => {
  const { home, make, shown } = setup()
  make('home/go/bin/gofmt', 0o755)
  make('home/go/src/project/main.go')
  expect(shown([join(home, 'go/bin')], { root: join(home, 'go/src/project') })).toEqual([join(home, 'go')])
})
