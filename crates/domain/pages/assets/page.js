// Keeps the page true while it is open: the time left, the payment's status, the copy buttons. The page works without it.
(() => {
  'use strict';
  const main = document.getElementById('main');
  const find = (id) => document.getElementById(id);
  const parts = ['head', 'state', 'sorry', 'clock', 'next', 'todo'];
  const language = document.documentElement.lang;

  // The server's time, however wrong this device's clock is: what the server said, and what has passed since.
  let said = Number(main.dataset.now);
  let heard = performance.now();
  const now = () => said + performance.now() - heard;

  const two = (number) => String(number).padStart(2, '0');
  const spell = (millis) => {
    const seconds = Math.max(0, Math.ceil(millis / 1000));
    const days = Math.floor(seconds / 86400);
    const rest = [Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60, seconds % 60].map(two).join(':');
    return days ? main.dataset.days.replace('#', days) + ' ' + rest : rest;
  };
  const tick = () => {
    const left = document.querySelector('[data-until]');
    if (!left) return;
    const millis = Number(left.dataset.until) - now();
    left.textContent = spell(millis);
    find('clock').classList.toggle('soon', millis < 300000);
    main.classList.toggle('over', millis <= 0);
  };
  const localise = () => {
    // Where a browser does not speak the language, figures say it: 2026-11-22 21:40.
    const known = Intl.DateTimeFormat.supportedLocalesOf([language, 'sv']);
    const form = new Intl.DateTimeFormat(known[0], known[0] === language ? { dateStyle: 'medium', timeStyle: 'short' } : { dateStyle: 'short', timeStyle: 'short' });
    for (const time of document.querySelectorAll('time[data-local]')) time.textContent = form.format(new Date(time.dateTime));
  };
  const dress = () => {
    for (const button of document.querySelectorAll('[data-copy]')) button.hidden = !navigator.clipboard;
    localise();
    tick();
  };

  document.addEventListener('click', async (event) => {
    const button = event.target.closest('[data-copy]');
    if (!button) return;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
    } catch {
      // Some browsers inside of apps forbid it: then the value is selected, to be copied by hand.
      getSelection().selectAllChildren(button.closest('dd').previousElementSibling);
      return;
    }
    const face = button.querySelector('.face');
    const word = face.dataset.word || face.textContent;
    face.dataset.word = word;
    face.textContent = main.dataset.copied;
    button.classList.add('done');
    find('say').textContent = main.dataset.copied;
    setTimeout(() => { face.textContent = word; button.classList.remove('done'); find('say').textContent = ''; }, 2000);
  });

  // No answer for so long is none.
  const ask = (url, options) => fetch(url, { cache: 'no-store', signal: AbortSignal.timeout?.(15000), ...options });

  // The server writes the page and nobody else: on a change its parts are taken from there anew.
  const renew = async () => {
    const answer = await ask(main.dataset.page, { headers: { accept: 'text/html' } });
    if (!answer.ok) throw new Error(answer.status);
    const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const source = fresh.getElementById('main');
    // Answers may arrive in another order than they were written in.
    if (Number(source.dataset.revision) < Number(main.dataset.revision)) return;
    for (const id of parts) {
      const [old, next] = [find(id), fresh.getElementById(id)];
      if (old.innerHTML !== next.innerHTML) old.innerHTML = next.innerHTML;
      old.className = next.className;
      old.hidden = next.hidden;
    }
    main.className = source.className;
    Object.assign(main.dataset, source.dataset);
    document.title = fresh.title;
    dress();
  };

  // Each round of following has a number; one that was overtaken by a later one ends.
  let stream, failures = 0, missed = 0, timer, round = 0, asked;
  const is_open = () => main.dataset.live === 'true';
  const set_clock = (snapshot) => { said = Date.parse(snapshot.server_time); heard = performance.now(); };
  const take = async (snapshot) => {
    set_clock(snapshot);
    asked = performance.now();
    if (String(snapshot.revision) !== main.dataset.revision) await renew();
    if (!is_open()) stop();
  };
  const stop = () => { if (stream) stream.close(); stream = undefined; clearTimeout(timer); };
  const told = () => { missed = 0; find('lost').hidden = true; };
  const again = () => {
    stop();
    if (!is_open()) return;
    failures += 1;
    timer = setTimeout(follow, Math.min(1000 * 2 ** (failures - 1), 15000) * (0.8 + 0.4 * Math.random()));
  };
  // Asks once, then listens. Whatever goes wrong it begins anew a little later, so that where nothing lets a stream
  // through the page still learns by asking.
  const follow = async () => {
    stop();
    const mine = ++round;
    asked = performance.now();
    try {
      const answer = await ask(main.dataset.details);
      if (!answer.ok) throw new Error(answer.status);
      await take(await answer.json());
      told();
    } catch {
      if (mine !== round) return;
      missed += 1;
      if (missed > 2) find('lost').hidden = false;
      again();
      return;
    }
    // A page that nobody looks at leaves the browser's few connections to others.
    if (mine !== round || !is_open() || document.hidden) return;
    const source = stream = new EventSource(main.dataset.events);
    source.onmessage = (event) => { failures = 0; told(); take(JSON.parse(event.data)).catch(again); };
    source.onerror = () => { source.close(); if (stream === source) again(); };
  };
  // A connection may fall silent without an error, while a device sleeps or behind a proxy. One that told nothing for a
  // minute is kept if there was nothing to tell.
  let gap = Date.now() - performance.now();
  const watch = async () => {
    if (!is_open()) return;
    // While a device sleeps, the clock that counts here may stand still.
    const slept = Date.now() - performance.now() - gap;
    gap += slept;
    if (Math.abs(slept) > 5000) return follow();
    if (performance.now() - asked < 60000) return;
    const mine = round;
    asked = performance.now();
    let is_silent = true;
    try {
      const answer = await ask(main.dataset.details);
      const snapshot = await answer.json();
      if (answer.ok) set_clock(snapshot);
      is_silent = !answer.ok || String(snapshot.revision) !== main.dataset.revision;
    } catch { /* The next round tells the reader if nothing comes through. */ }
    if (is_silent && mine === round) follow();
  };

  dress();
  setInterval(tick, 1000);
  if (is_open()) {
    addEventListener('pageshow', (event) => { if (event.persisted) follow(); });
    document.addEventListener('visibilitychange', () => { if (document.hidden) stop(); else if (is_open()) follow(); });
    setInterval(watch, 5000);
    follow();
  }
})();
