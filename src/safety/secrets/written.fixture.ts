// The ways in which programs write a secret, for tests.

/** As programs write them; none of these is made by the code under test. */
export const WRITTEN: { readonly [how: string]: (secret: string) => string } = {
  'as it is': secret => secret,
  'in the middle of words': secret => `before${secret}after`,
  JSON: secret => JSON.stringify({ token: secret }),
  'JSON in JSON': secret => JSON.stringify({ body: JSON.stringify({ token: secret }) }),
  'JSON with escaped slashes': secret => JSON.stringify(secret).replaceAll('/', '\\/'),
  'a query': secret => new URLSearchParams({ a: secret }).toString(),
  'a part of an address': secret => `https://example.org/${encodeURIComponent(secret)}/x`,
  'twice in an address': secret => encodeURIComponent(encodeURIComponent(secret)),
  base64: secret => Buffer.from(secret).toString('base64'),
  'base64 behind one byte': secret => Buffer.from(`x${secret}`).toString('base64'),
  'base64 behind two bytes': secret => Buffer.from(`ab${secret}cd`).toString('base64'),
  'a basic authorization': secret => `Basic ${Buffer.from(`user:${secret}`).toString('base64')}`,
  'base64 for addresses': secret => Buffer.from(`_${secret}`).toString('base64url'),
  'base64 in lines': secret => Buffer.from(`${secret}${secret}`).toString('base64').replace(/.{24}/g, '$&\n'),
  hexadecimal: secret => Buffer.from(secret).toString('hex'),
  'hexadecimal in capitals': secret => Buffer.from(secret).toString('hex').toUpperCase(),
  backwards: secret => [...secret].reverse().join(''),
  'in capitals': secret => secret.toUpperCase(),
  'in small letters': secret => secret.toLowerCase(),
  'the first ten characters': secret => `${secret.slice(0, 10)}…`,
  'the last ten characters': secret => `…${secret.slice(-10)}`,
  'ten in the middle': secret => secret.slice(5, 15),
  'in two lines': secret => `${secret.slice(0, 12)}\n${secret.slice(12)}`,
  'spaced out': secret => [...secret].join(' '),
}
