/**
 * Faults of world 2: what is done to whole instances, their links, the clocks and Telegram in a round.
 *
 * Owns: killing, stopping, pausing, cutting off, jumping, throttling, users who delete, close and rename threads, as the
 * round's swarm options say.
 * Does not own: faults of single requests (`requests.ts`, `network.ts`, `telegram-api.ts`), healing (`bus-world.ts`).
 */
import type { BusPlace, BusWorld } from "./bus-line.ts";
import type { HostClock } from "./clock.ts";
import type { Random } from "./random.ts";
import type { UserDeed } from "./telegram.ts";

export function planBusFaults(world: BusWorld): void {
  const { hand, places } = world;
  const chance = hand.random.split(`plan at ${hand.scheduler.nowUs()}`);
  const swarm = hand.swarm();
  const some = (act: (place: BusPlace) => boolean) => () => {
    const living = places.filter((place) => place.instance.process.state() !== "dead");
    return living.length > 0 && act(chance.pick(living));
  };
  const restart = (place: BusPlace) =>
    hand.scheduler.after(chance.between(1, swarm.restartMaxMs), place.name, () => world.boot(place));
  const die = (place: BusPlace) => {
    place.instance.process.kill();
    world.network.kill(place.name);
    restart(place);
    return true;
  };
  const kill = (place: BusPlace) => {
    if (chance.chance(0.5)) return die(place);
    hand.doom(place.instance.process, () => void die(place));
    return true;
  };
  const leave = (place: BusPlace) => {
    place.instance.stop(chance.chance(0.3));
    hand.scheduler.after(5_000, place.name, () => {
      restart(place);
      return null;
    });
    return true;
  };
  const pause = (place: BusPlace) => {
    const { process } = place.instance;
    if (process.state() !== "running") return false;
    process.pause(chance.chance(swarm.suspendShare) ? "suspended" : "stopped");
    hand.scheduler.after(chance.between(1, swarm.pauseMaxMs), place.name, () => {
      process.resume();
      return "resumes";
    });
    return true;
  };
  hand.repeat("kill", swarm.killEveryMs, some(kill));
  hand.repeat("stop", swarm.leaveEveryMs, some(leave));
  hand.repeat("pause", swarm.pauseEveryMs, some(pause));
  planOutside(world, chance);
  planUsers(world, hand.random.split(`users at ${hand.scheduler.nowUs()}`));
}

/** How long a thread that a user has closed stays so, at most. */
const closedMaxMs = 20_000;

/** What users do to the threads of the chat. */
function planUsers({ hand, telegram }: BusWorld, chance: Random): void {
  const swarm = hand.swarm();
  const meddle = (deed: (id: number) => UserDeed) => () => {
    const living = telegram.threads().filter(({ isGone, isClosed }) => !isGone && !isClosed);
    if (living.length === 0) return false;
    const { id } = chance.pick(living);
    const wanted = deed(id);
    if (!telegram.meddle(id, wanted)) return false;
    hand.scheduler.note(`user ${wanted.kind}s thread ${id}`);
    return true;
  };
  const close = (id: number): UserDeed => {
    hand.scheduler.after(chance.between(100, closedMaxMs), "user", () =>
      telegram.meddle(id, { kind: "reopen" }) ? `reopens thread ${id}` : null,
    );
    return { kind: "close" };
  };
  const rename = (): UserDeed => ({ kind: "rename", name: `named at ${String(hand.scheduler.nowUs())}` });
  hand.repeat(
    "userDeletes",
    swarm.userDeletesEveryMs,
    meddle(() => ({ kind: "delete" })),
  );
  hand.repeat("userCloses", swarm.userClosesEveryMs, meddle(close));
  hand.repeat("userRenames", swarm.userRenamesEveryMs, meddle(rename));
}

/** What happens around the processes: links, clocks, Telegram. */
function planOutside(world: BusWorld, chance: Random): void {
  const { hand, places } = world;
  const swarm = hand.swarm();
  const partition = () => {
    const [one, other] = [chance.pick(places), chance.pick(places)];
    if (one === other) return false;
    world.network.partition(one.name, other.name);
    hand.scheduler.after(chance.between(1, swarm.partitionMaxMs), "network", () => {
      world.network.heal(one.name, other.name);
      return `heals ${one.name} and ${other.name}`;
    });
    return true;
  };
  const jump = (clock: HostClock) => {
    clock.jump(chance.between(-swarm.jumpMaxMs, swarm.jumpMaxMs));
    return true;
  };
  const throttle = () => {
    world.gate.throttledUntilMs = hand.scheduler.nowMs() + chance.between(1_000, 15_000);
    return true;
  };
  hand.repeat("partition", swarm.partitionEveryMs, partition);
  hand.repeat("hostClockJump", swarm.hostJumpEveryMs, () => jump(chance.pick(places).host));
  hand.repeat("storeClockJump", swarm.storeJumpEveryMs, () => jump(world.storeClock));
  hand.repeat("throttle", swarm.telegramThrottleEveryMs, throttle);
}
