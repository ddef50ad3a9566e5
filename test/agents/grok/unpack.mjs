// Grok comes compressed. Its install script would unpack it into the home of whoever installs; no install scripts run here, so this does it.
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliDecompressSync } from 'node:zlib'

const here = import.meta.dirname ?? new URL('.', import.meta.url).pathname
const native = join(here, `node_modules/@xai-official/grok-${process.platform}-${process.arch}/bin/grok`)
if (existsSync(`${native}.br`) && !existsSync(native)) {
  writeFileSync(`${native}.new`, brotliDecompressSync(readFileSync(`${native}.br`)))
  chmodSync(`${native}.new`, 0o755)
  renameSync(`${native}.new`, native)
}
mkdirSync(join(here, 'bin'), { recursive: true })
rmSync(join(here, 'bin/grok'), { force: true })
if (existsSync(native)) symlinkSync(native, join(here, 'bin/grok'))
