import { runProcess } from '@penstock/platforms/process.ts'
import { bind } from '@penstock/runtime/run.ts'
import { channelWatcher } from './service.ts'

await runProcess('channel-watcher', ({ outside }) => {
  const { lightning, chain, height } = outside()
  return [bind(channelWatcher, { lightning, chain }, height)]
})
