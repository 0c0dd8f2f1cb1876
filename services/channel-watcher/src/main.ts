import { runProcess } from '@penstock/platforms/process.ts'
import { bind } from '@penstock/runtime/run.ts'
import { channelWatcherService } from './service.ts'

await runProcess('channel-watcher', ({ externalWorld }) => {
  const { lightning, chain, height } = externalWorld()
  return [bind(channelWatcherService, { lightning, chain }, height)]
})
