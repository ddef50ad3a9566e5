// The ways in which programs write a secret, for tests.

import { execFileSync } from 'node:child_process'

/** As programs write them; none of these is made by the code under test. */
export const WRITTEN: { readonly [how: string]: (secret: string) => string } = {
  'as it is': secret => secret,
  'in the middle of words': secret => `before${secret}after`,
  JSON: secret => JSON.stringify({ token: secret }),
  'JSON in JSON': secret => JSON.stringify({ body: JSON.stringify({ token: secret }) }),
  'JSON with escaped slashes': secret => JSON.stringify(secret).replaceAll('/', '\\/'),
  'Unicode escapes': secret => [...secret].map(one => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''),
  'Unicode escapes in JSON': secret =>
    JSON.stringify([...secret].map(one => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')),
  'a query': secret => new URLSearchParams({ a: secret }).toString(),
  'a part of an address': secret => `https://example.org/${encodeURIComponent(secret)}/x`,
  'twice in an address': secret => encodeURIComponent(encodeURIComponent(secret)),
  'every byte of an address': secret => [...Buffer.from(secret)].map(byte => `%${byte.toString(16)}`).join(''),
  base64: secret => Buffer.from(secret).toString('base64'),
  'base64 behind one byte': secret => Buffer.from(`x${secret}`).toString('base64'),
  'base64 behind two bytes': secret => Buffer.from(`ab${secret}cd`).toString('base64'),
  'a basic authorization': secret => `Basic ${Buffer.from(`user:${secret}`).toString('base64')}`,
  'base64 for addresses': secret => Buffer.from(`_${secret}`).toString('base64url'),
  'base64 in lines': secret => Buffer.from(`${secret}${secret}`).toString('base64').replace(/.{24}/g, '$&\n'),
  hexadecimal: secret => Buffer.from(secret).toString('hex'),
  'hexadecimal in capitals': secret => Buffer.from(secret).toString('hex').toUpperCase(),
  'hexadecimal with colons': secret =>
    Buffer.from(secret)
      .toString('hex')
      .replace(/..(?=.)/g, '$&:'),
  'hexadecimal with blanks': secret =>
    Buffer.from(secret)
      .toString('hex')
      .replace(/..(?=.)/g, '$& '),
  'a C array': secret => [...Buffer.from(secret)].map(byte => `0x${byte.toString(16)}`).join(', '),
  'escaped bytes': secret => [...Buffer.from(secret)].map(byte => `\\x${byte.toString(16)}`).join(''),
  'a list of numbers': secret => JSON.stringify([...Buffer.from(secret)]),
  'what Buffer prints': secret => JSON.stringify(Buffer.from(secret)),
  backwards: secret => [...secret].reverse().join(''),
  'in capitals': secret => secret.toUpperCase(),
  'in small letters': secret => secret.toLowerCase(),
  HTML: secret => secret.replace(/[&<>"']/g, one => `&#${one.charCodeAt(0)};`),
  'numbers for HTML': secret => [...secret].map(one => `&#${one.codePointAt(0)};`).join(''),
  'quoted for a shell': secret => `'${secret.replaceAll("'", "'\\''")}'`,
  'the first ten characters': secret => `${secret.slice(0, 10)}…`,
  'the last ten characters': secret => `…${secret.slice(-10)}`,
  'ten in the middle': secret => secret.slice(5, 15),
  'in two lines': secret => `${secret.slice(0, 12)}\n${secret.slice(12)}`,
  'spaced out': secret => [...secret].join(' '),
  'a dump by od -c': secret => execFileSync('od', ['-An', '-c', '-w64'], { input: secret, encoding: 'utf8' }),
  'a dump by od -b': secret => execFileSync('od', ['-An', '-b', '-w64'], { input: secret, encoding: 'utf8' }),
  'a dump by od -tx1': secret => execFileSync('od', ['-An', '-tx1', '-w64'], { input: secret, encoding: 'utf8' }),
  'a printf %q of a shell': secret =>
    execFileSync('bash', ['-c', 'printf %q "$1"', 'bash', secret], { encoding: 'utf8' }),
}
