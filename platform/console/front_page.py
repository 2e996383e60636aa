"""The address that `make up` prints: a sign-in form, then the API's own page. Plain HTML, no script."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.http import require_http_methods

from console.actions.sessions import do_sign_in
from console.core.problems import Problem


@csrf_protect
@require_http_methods(["GET", "POST"])
def front_page(request: HttpRequest) -> HttpResponse:
    if request.method == "GET":
        return redirect("docs") if request.user.is_authenticated else render(request, "sign_in.html")
    name, password = request.POST.get("username", ""), request.POST.get("password", "")
    try:
        do_sign_in(request, name, password, address=request.META.get("REMOTE_ADDR", ""), now=timezone.now())
    except Problem as problem:
        return render(request, "sign_in.html", {"problem": problem.detail}, status=problem.status)
    return redirect("docs")
