// Addresses that no name may resolve to: this machine, private networks, link-local and metadata services, and their IPv6 forms. They are
// reachable only by a rule with that very address, or with `localhost`.

import { BlockList, isIPv4 } from 'node:net'
import { networkInterfaces } from 'node:os'
import { plainHost } from '../../domain/plan-rules/network-rule.ts'

const DENIED_4: readonly (readonly [string, number, string])[] = [
  ['0.0.0.0', 8, 'this machine'],
  ['10.0.0.0', 8, 'a private network'],
  ['100.64.0.0', 10, 'a network of a provider, with its metadata service'],
  ['127.0.0.0', 8, 'this machine'],
  ['169.254.0.0', 16, 'link-local, with the metadata service'],
  ['172.16.0.0', 12, 'a private network'],
  ['192.0.0.0', 24, 'reserved'],
  ['192.0.2.0', 24, 'reserved'],
  ['192.88.99.0', 24, 'a relay'],
  ['192.168.0.0', 16, 'a private network'],
  ['198.18.0.0', 15, 'a private network'],
  ['198.51.100.0', 24, 'reserved'],
  ['203.0.113.0', 24, 'reserved'],
  ['224.0.0.0', 4, 'multicast'],
  ['240.0.0.0', 4, 'reserved'],
]

const DENIED_6: readonly (readonly [string, number, string])[] = [
  // All of ::/96 are spellings of IPv4 addresses, ::1 and :: included.
  ['::', 96, 'this machine'],
  ['::ffff:0:0', 96, 'an IPv4 address in another spelling'],
  ['::ffff:0:0:0', 96, 'an IPv4 address in another spelling'],
  ['64:ff9b::', 96, 'an IPv4 address in another spelling'],
  ['64:ff9b:1::', 48, 'an IPv4 address in another spelling'],
  ['100::', 64, 'reserved'],
  ['2001::', 32, 'a relay'],
  ['2001:db8::', 32, 'reserved'],
  ['2002::', 16, 'an IPv4 address in another spelling'],
  ['fc00::', 7, 'a private network'],
  ['fe80::', 10, 'link-local'],
  ['fec0::', 10, 'a private network'],
  ['ff00::', 8, 'multicast'],
]

// Separate lists, because ::ffff:0:0/96 in one list would match every IPv4 address.
const listed = (
  family: 'ipv4' | 'ipv6',
  nets: typeof DENIED_4,
): readonly { readonly list: BlockList; readonly is: string }[] =>
  nets.map(([net, prefix, is]) => {
    const list = new BlockList()
    list.addSubnet(net, prefix, family)
    return { list, is }
  })

const LISTS = { ipv4: listed('ipv4', DENIED_4), ipv6: listed('ipv6', DENIED_6) }

/** Null for an ordinary address. */
export function deniedAs(address: string): string | null {
  const family = isIPv4(address) ? 'ipv4' : 'ipv6'
  const plain = address.replace(/%.*$/, '')
  const found = LISTS[family].find(({ list }) => list.check(plain, family))
  if (found !== undefined) return found.is
  return ownAddresses().has(hostOfAddress(plain)) ? 'this machine' : null
}

export function hostOfAddress(address: string): string {
  return plainHost(isIPv4(address) ? address : `[${address.replace(/%.*$/, '')}]`) ?? ''
}

export const isLoopback = (address: string): boolean => address === '::1' || (isIPv4(address) && /^127\./.test(address))

/** Public addresses of this machine lead to local services, too. */
function ownAddresses(): ReadonlySet<string> {
  const all = Object.values(networkInterfaces()).flatMap(list => list ?? [])
  return new Set(all.map(({ address }) => hostOfAddress(address)))
}
