import { verifyStore } from '@penstock/standalone/audit.ts'
import { openStored } from '@penstock/platforms/stored.ts'
import { keepHeads } from '@penstock/runtime/audit-keep.ts'
import { openHeads } from '@penstock/platforms/audit-files.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { openLog } from '@penstock/runtime/log.ts'
const dir = '/tmp/aud/big'
const peak = () => Math.round(process.resourceUsage().maxRSS / 1024)
if (process.argv[2] === 'heads') {
  const s = openStored(dir); const t = performance.now(); const c = process.cpuUsage()
  await keepHeads({ store: s, heads: await openHeads(dir), clock: systemClock, log: openLog('silent') }, AbortSignal.abort())
  const u = process.cpuUsage(c)
  console.log('heads ms', Math.round(performance.now() - t), 'cpu', Math.round((u.user+u.system)/1000), 'peak MB', peak()); process.exit(0)
}
if (process.argv[2] === 'faults') { const s = openStored(dir); const t = performance.now(); console.log(s.faults(), Math.round(performance.now() - t)); process.exit(0) }
const t = performance.now(); const c = process.cpuUsage()
const r = await verifyStore(dir)
const u = process.cpuUsage(c)
const ms = performance.now() - t
console.log(JSON.stringify(r), Math.round(ms), 'ms cpu', Math.round((u.user + u.system) / 1000), Math.round(r.events / ms * 1000), 'ev/s', 'peak MB', peak())
process.exit(0)
