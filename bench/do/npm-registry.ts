// An npm registry on the loopback: it serves packages of one file, and knows of every version but the newest that it has a hole.
// Needs the extras: agents

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Situation } from './situations.ts'

export interface NpmRegistry {
  readonly url: string
  close(): Promise<void>
}

/** `folder`: where the packages are packed. */
export async function npmRegistry(packages: NonNullable<Situation['registry']>, folder: string): Promise<NpmRegistry> {
  const packed = packages.map(({ name, version, main }) => {
    const at = join(folder, `${name}-${version}`)
    mkdirSync(join(at, 'package'), { recursive: true })
    writeFileSync(join(at, 'package/package.json'), JSON.stringify({ name, version, main: 'index.js' }))
    writeFileSync(join(at, 'package/index.js'), main)
    execFileSync('tar', ['-czf', `${at}.tgz`, '-C', at, 'package'])
    const bytes = readFileSync(`${at}.tgz`)
    return { name, version, bytes, file: `${name}-${version}.tgz` }
  })
  const newest = packed.at(-1)!
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '')
    const found = packed.find(({ file }) => path.endsWith(`/-/${file}`))
    if (found !== undefined) return void response.end(found.bytes)
    request.resume()
    const all = packed.filter(({ name }) => path === `/${name}`)
    if (all.length === 0 && !path.includes('advisories')) return void response.writeHead(404).end('{}')
    const about = path.includes('advisories')
      ? {
          [newest.name]: [
            {
              ...{ id: 1, url: 'https://example.com/advisory', title: 'Command injection', severity: 'high' },
              vulnerable_versions: `<${newest.version}`,
            },
          ],
        }
      : {
          name: newest.name,
          'dist-tags': { latest: newest.version },
          versions: Object.fromEntries(
            all.map(({ name, version, bytes, file }) => [
              version,
              {
                ...{ name, version, main: 'index.js' },
                dist: {
                  tarball: `${url}/${name}/-/${file}`,
                  integrity: `sha512-${createHash('sha512').update(bytes).digest('base64')}`,
                },
              },
            ]),
          ),
        }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(about))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
