// A folder as shell tools see it: one hash over names, kinds, modes, link targets and bytes. Independent of what is tested.

import { execFileSync } from 'node:child_process'

const TREE = `set -eu; export LC_ALL=C
find . -mindepth 1 \\( -path ./.planfold -o -path ./.git \\) -prune -o -printf '%P\\0%y %m %l\\0' | sort -z | sha256sum
find . -mindepth 1 \\( -path ./.planfold -o -path ./.git \\) -prune -o -type f -print0 | sort -z | xargs -0r sha256sum -z | sha256sum`

const GIT = `set -eu; export LC_ALL=C
find .git -printf '%P\\0%y %m %l\\0' | sort -z | sha256sum
find .git -type f -print0 | sort -z | xargs -0r sha256sum -z | sha256sum`

export const sh = (folder: string, script: string): string =>
  execFileSync('bash', ['-c', script], {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, HOME: folder },
  })

/** Everything but the state folder and the repository. */
export const treeHash = (folder: string): string => sh(folder, TREE)

/** Every byte of the repository. */
export const gitHash = (folder: string): string => sh(folder, GIT)
