(() => {
  const $ = (s, r = document) => r.querySelector(s), $$ = (s, r = document) => [...r.querySelectorAll(s)];
  const root = document.documentElement, prov = JSON.parse($('#prov-data').textContent);
  // theme: auto, light, dark; storage may be refused on file pages
  const theme = $('#theme'), modes = ['auto', 'light', 'dark'];
  let mode = 'auto';
  try { mode = localStorage.getItem('theme') || 'auto'; } catch { /* refused */ }
  const paint = () => {
    if (mode === 'auto') delete root.dataset.theme; else root.dataset.theme = mode;
    theme.textContent = 'Theme: ' + mode;
    try { localStorage.setItem('theme', mode); } catch { /* refused */ }
  };
  theme.hidden = false;
  theme.onclick = () => { mode = modes[(modes.indexOf(mode) + 1) % 3]; paint(); };
  if (!modes.includes(mode)) mode = 'auto';
  paint();
  // sortable tables: buttons exist only when the script runs; each tbody is sorted on its own
  for (const th of $$('table.sortable thead th:not([data-nosort])')) {
    const b = document.createElement('button');
    b.type = 'button'; b.append(...th.childNodes); th.append(b);
    b.onclick = () => {
      const up = th.getAttribute('aria-sort') !== 'ascending', i = th.cellIndex, t = th.closest('table');
      $$('th[aria-sort]', t).forEach(x => x.removeAttribute('aria-sort'));
      th.setAttribute('aria-sort', up ? 'ascending' : 'descending');
      const key = r => r.cells[i]?.dataset.v ?? r.cells[i]?.textContent.trim() ?? '';
      for (const tb of t.tBodies) {
        const rows = [...tb.rows].filter(r => !r.classList.contains('grp'));
        const numeric = rows.every(r => key(r) === "" || isFinite(key(r)));
        rows.sort((a, c) => (up ? 1 : -1) * (numeric ? key(a) - key(c) : key(a).localeCompare(key(c), "en")));
        tb.append(...rows);
      }
    };
  }
  // where a number comes from: hover, focus or tap; Escape closes; text only, never markup
  const pop = $('#pop');
  let on = null, timer = 0;
  const hide = () => { pop.hidden = true; on?.classList.remove('on'); on?.firstElementChild?.removeAttribute('aria-describedby'); on = null; };
  const show = el => {
    clearTimeout(timer);
    if (el === on) return;
    hide();
    const ptr = el.dataset.ptr, dot = ptr.lastIndexOf('.'), p = prov[ptr.slice(0, dot)], field = ptr.slice(dot + 1);
    if (!p) return;
    on = el; el.classList.add('on'); el.firstElementChild?.setAttribute('aria-describedby', 'pop');
    $('b', pop).textContent = `${el.dataset.ptr} = ${p.values[field] ?? el.textContent}`;
    for (const k of ['method', 'n', 'inputs', 'label']) $('.p-' + k, pop).textContent = p[k];
    $('button', pop).textContent = 'Copy number with its pointer';
    pop.hidden = false;
    const r = el.getBoundingClientRect(), w = pop.offsetWidth, h = pop.offsetHeight;
    pop.style.left = Math.max(12, Math.min(r.left + scrollX, innerWidth - w - 20)) + 'px';
    pop.style.top = (r.bottom + h + 12 > innerHeight && r.top > h ? r.top - h - 6 : r.bottom + 6) + scrollY + 'px';
  };
  const later = () => { timer = setTimeout(hide, 220); };
  document.addEventListener('mouseover', e => {
    const el = e.target.closest('[data-ptr]');
    if (el) show(el); else if (e.target.closest('#pop')) clearTimeout(timer);
  });
  document.addEventListener('mouseout', e => { if (e.target.closest('[data-ptr], #pop')) later(); });
  document.addEventListener('focusin', e => { const el = e.target.closest('[data-ptr]'); if (el) show(el); else if (!e.target.closest('#pop')) hide(); });
  document.addEventListener('keydown', e => { if (e.key === 'Escape') hide(); });
  document.addEventListener('click', e => {
    const el = e.target.closest('[data-ptr]');
    if (el && matchMedia('(hover: none)').matches) { e.preventDefault(); show(el); } else if (!el && !e.target.closest('#pop')) hide();
  });
  $('button', pop).onclick = async e => {
    const p = prov[on.dataset.ptr.slice(0, on.dataset.ptr.lastIndexOf('.'))];
    const text = `${on.textContent.trim()} (${$('b', pop).textContent}; ${p.label}; ${p.n}; ${p.inputs}; study ${document.body.dataset.study})`;
    try { await navigator.clipboard.writeText(text); e.target.textContent = 'Copied'; } catch { prompt('Copy:', text); }
  };
  for (const s of $$('.scroll')) if (s.scrollWidth > s.clientWidth) { s.tabIndex = 0; s.setAttribute('role', 'region'); s.setAttribute('aria-label', $('caption', s).textContent); }
  // outline: mark the section being read
  const links = new Map($$('nav.toc a[href^="#"]').map(a => [a.getAttribute('href').slice(1), a]));
  links.values().next().value.setAttribute('aria-current', 'true');
  const seen = new IntersectionObserver(es => es.forEach(e => {
    if (!e.isIntersecting) return;
    links.forEach(a => a.removeAttribute('aria-current'));
    links.get(e.target.id)?.setAttribute('aria-current', 'true');
  }), { rootMargin: '-10% 0px -80% 0px' });
  $$('main [id]').filter(s => links.has(s.id)).forEach(s => seen.observe(s));
})();
